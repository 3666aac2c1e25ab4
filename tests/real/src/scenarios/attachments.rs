//! Files and images that go with a prompt.

use crate::ScenarioResult;
use crate::testbed::Testbed;
use wharf_mock_model::Step;

/// An image of one red dot.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49,
    0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xf7, 0x03, 0x41, 0x43,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// How every such image begins in base64.
const PNG_IN_BASE64: &str = "iVBORw0KGgo";

/// The argument of `wharf run` that names a file to attach.
const ATTACH: &str = "--attach";

/// The image reaches the model as an image, not as a path.
pub(super) fn image(testbed: &Testbed<'_>) -> ScenarioResult {
    let path = testbed.workspace.join("dot.png");
    std::fs::write(&path, PNG).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let model = testbed.model(vec![Step::text("A red dot.")])?;
    let result = testbed.run(&model, &[ATTACH, "dot.png", "What is it?"])?;
    result.offers("attachments")?.expect_answer("A red dot.")?;
    let requests = model.requests();
    let images = requests.iter().flat_map(|request| &request.attachments);
    let images: Vec<_> = images.filter(|image| image.media_type.starts_with("image/")).collect();
    result.check(!images.is_empty(), "the model got no image")?;
    // Some agents encode an image again.
    let is_png = images.iter().any(|image| image.media_type == "image/png" && image.base64.starts_with(PNG_IN_BASE64));
    result.check(is_png, &format!("the model got other images: {images:?}"))?;
    Ok(())
}
