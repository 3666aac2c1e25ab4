//! Which addresses an adapter's requests may reach.

use url::Url;

/// Whether a URL's host is this machine, by address or as `localhost`.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether an address belongs to the public internet. The others need a grant that names them: this machine, the
/// local network, a cloud's metadata service.
pub fn is_public(address: std::net::IpAddr) -> bool {
    use std::net::IpAddr;
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            !(v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a == 192 && b == 0 && c == 0)
                || (a == 198 && (18..20).contains(&b)))
        }
        IpAddr::V6(v6) => {
            if let Some(v4) = v6.to_ipv4_mapped().or_else(|| embedded(v6)) {
                return is_public(IpAddr::V4(v4));
            }
            !(v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.segments()[0] & 0xffc0 == 0xfec0
                || v6.segments()[..2] == [0x2001, 0x0db8])
        }
    }
}

/// The IPv4 address inside a NAT64 or 6to4 address, which a gateway would connect to.
#[expect(clippy::many_single_char_names, reason = "the parts of an address have no better names")]
fn embedded(v6: std::net::Ipv6Addr) -> Option<std::net::Ipv4Addr> {
    let [a, b, c, .., y, z] = v6.segments();
    let join = |high: u16, low: u16| std::net::Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b) {
        (0x64, 0xff9b) => Some(join(y, z)),
        (0x2002, _) => Some(join(b, c)),
        (0, 0) if v6.segments()[..6] == [0; 6] && v6 != std::net::Ipv6Addr::LOCALHOST => Some(join(y, z)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "fec0::1",
            "::7f00:1",
        ] {
            assert!(!is_public(address.parse().expect("an address")), "{address}");
        }
        for address in ["1.1.1.1", "140.82.112.3", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(address.parse().expect("an address")), "{address}");
        }
    }
}
