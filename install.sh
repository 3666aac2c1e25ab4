#!/bin/sh
# Installs a release of wharf. Everything is in functions, and the last line calls them, so that a partial download
# of this script does nothing.
set -eu

usage() {
    cat <<'EOF'
Install a release of wharf.

Usage: install.sh [--version vX.Y.Z]

Options:
      --version vX.Y.Z  install this version instead of the latest
  -h, --help            print this help

Environment:
  WHARF_INSTALL_DIR       the folder for the program [default: ~/.local/bin]
  WHARF_INSTALL_BASE_URL  the address of the releases, an https, http or file URL
                          [default: https://github.com/wharf-host/wharf/releases]
EOF
}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

usage_error() {
    printf 'install.sh: %s\nhint: install.sh --help lists the options\n' "$1" >&2
    exit 2
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# The target of the Rust toolchain for this system.
detect_target() {
    system=$(uname -s)
    machine=$(uname -m)
    case $machine in
        x86_64 | amd64) arch=x86_64 ;;
        aarch64 | arm64) arch=aarch64 ;;
        *) unsupported ;;
    esac
    case $system in
        Linux)
            if ldd --version 2>&1 | grep -qi musl; then
                system='Linux with musl'
                unsupported
            fi
            target=$arch-unknown-linux-gnu
            ;;
        Darwin) target=$arch-apple-darwin ;;
        *) unsupported ;;
    esac
}

unsupported() {
    fail "there is no release for $system on $machine
hint: build it with \`cargo install --locked wharf-cli\`; the release for Windows is a zip file on
      https://github.com/wharf-host/wharf/releases"
}

# download URL FILE
download() {
    case $1 in
        file://*)
            cp "${1#file://}" "$2" 2>/dev/null || fail "cannot download $1"
            ;;
        *)
            if has curl; then
                curl --fail --silent --show-error --location --proto-redir '=https' --retry 3 --output "$2" "$1" ||
                    fail "cannot download $1"
            elif has wget; then
                wget -q -O "$2" "$1" || fail "cannot download $1"
            else
                fail "neither curl nor wget is installed, and one of them is needed to download $1"
            fi
            ;;
    esac
}

# The SHA-256 digest of a file, in hexadecimal.
digest() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "neither sha256sum nor shasum is installed, and one of them is needed to verify the download"
    fi
}

# verify ARCHIVE CHECKSUM_FILE
verify() {
    expected=$(cut -d ' ' -f 1 "$2")
    actual=$(digest "$1")
    if [ "$expected" != "$actual" ]; then
        fail "the checksum of ${1##*/} is wrong: expected $expected, got $actual
hint: nothing was installed; try again, and report it if it happens again"
    fi
}

# install_program FILE FOLDER. The rename replaces a running program safely.
install_program() {
    mkdir -p "$2" || fail "cannot create $2"
    new=$2/.wharf.$$
    if ! { cp "$1" "$new" && chmod 755 "$new" && mv -f "$new" "$2/wharf"; }; then
        rm -f "$new"
        fail "cannot write to $2
hint: set WHARF_INSTALL_DIR to a folder that you can write to"
    fi
}

main() {
    version=
    while [ $# -gt 0 ]; do
        case $1 in
            --version)
                [ $# -ge 2 ] || usage_error '--version needs a value, for example v0.1.0'
                version=$2
                shift 2
                ;;
            --version=*)
                version=${1#*=}
                shift
                ;;
            -h | --help)
                usage
                exit 0
                ;;
            *) usage_error "unknown argument: $1" ;;
        esac
    done

    base=${WHARF_INSTALL_BASE_URL:-https://github.com/wharf-host/wharf/releases}
    base=${base%/}
    folder=${WHARF_INSTALL_DIR:-}
    if [ -z "$folder" ]; then
        [ -n "${HOME:-}" ] || fail 'HOME is not set; set WHARF_INSTALL_DIR to the folder for the program'
        folder=$HOME/.local/bin
    fi
    detect_target

    temporary=$(mktemp -d) || fail 'cannot create a temporary folder'
    trap 'rm -rf "$temporary"' EXIT
    trap 'exit 1' HUP INT TERM

    if [ -z "$version" ]; then
        download "$base/latest/download/version.txt" "$temporary/version.txt"
        version=$(cat "$temporary/version.txt")
    fi
    version=v${version#v}
    case $version in
        *[!A-Za-z0-9.+-]*) usage_error "not a version: $version" ;;
        v[0-9]*.[0-9]*.[0-9]*) ;;
        *) usage_error "not a version: $version" ;;
    esac

    name=wharf-$target-$version
    download "$base/download/$version/$name.tar.gz" "$temporary/$name.tar.gz"
    download "$base/download/$version/$name.tar.gz.sha256" "$temporary/$name.tar.gz.sha256"
    verify "$temporary/$name.tar.gz" "$temporary/$name.tar.gz.sha256"
    tar -xzf "$temporary/$name.tar.gz" -C "$temporary" || fail "cannot unpack $name.tar.gz"
    [ -f "$temporary/$name/wharf" ] || fail "$name.tar.gz does not contain $name/wharf"
    install_program "$temporary/$name/wharf" "$folder"

    printf 'wharf %s is installed: %s\n' "$version" "$folder/wharf"
    case :${PATH:-}: in
        *:"$folder":*) ;;
        *) printf 'hint: add %s to PATH\n' "$folder" ;;
    esac
}

main "$@"
