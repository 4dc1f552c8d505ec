#!/bin/sh
# Packs Squall: one program for every Linux since glibc 2.28 (Debian 10, RHEL 8), with its debug information beside it, as .tar.gz,
# .deb, .rpm and OCI image, in the folder dist. Over an hour on two cores: each crate is optimized as one piece.
#
#   scripts/dist.sh [FOLDER]
#
# The tools come from PyPI and crates.io, in .venv-dist and CARGO_TARGET_DIR/dist-tools.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-dist}
: "${CARGO_TARGET_DIR:=$PWD/target}"
export CARGO_TARGET_DIR
architecture=$(uname -m)
target=$architecture-unknown-linux-gnu
tools=$CARGO_TARGET_DIR/dist-tools
built=$CARGO_TARGET_DIR/$target/dist
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

scripts/venv.sh .venv-dist scripts/dist-requirements.txt
cargo install --quiet --locked --root "$tools" cargo-deb@3.8.0 cargo-generate-rpm@0.21.1
PATH=$PWD/.venv-dist/bin:$tools/bin:$PATH

# A package without the pages would be no release: without Node the build fails.
export SQUALL_PAGES=full
echo "Building $target for glibc 2.28 ..."
cargo zigbuild --locked --profile dist --target "$target.2.28" --package squall-cli

echo "Packing ..."
rm -rf "$folder" && mkdir -p "$folder"
objcopy --only-keep-debug "$built/squall" "$built/squall.debug"
objcopy --strip-all --remove-section=.comment "$built/squall"
(cd "$built" && objcopy --add-gnu-debuglink=squall.debug squall)
"$built/squall" man "$built/man"
mkdir -p "$built/completions"
"$built/squall" completions bash > "$built/completions/squall.bash"
"$built/squall" completions zsh > "$built/completions/_squall"
"$built/squall" completions fish > "$built/completions/squall.fish"

name=squall-$version-$architecture
stage=$built/$name
rm -rf "$stage" && mkdir -p "$stage"
cp -r "$built/squall" "$built/man" "$built/completions" packaging/config.xml packaging/users.xml packaging/squall.service \
    LICENSE NOTICE README.md CHANGELOG.md "$stage"
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$built" -czf "$folder/$name.tar.gz" "$name"
tar --owner=0 --group=0 --numeric-owner -C "$built" -czf "$folder/$name-debug.tar.gz" squall.debug
cargo deb --no-build --no-strip --profile dist --target "$target" --package squall-cli --output "$folder/"
cargo generate-rpm --package crates/cli --profile dist --target "$target" --target-dir "$CARGO_TARGET_DIR" --output "$folder/"
case $architecture in x86_64) oci=amd64 ;; aarch64) oci=arm64 ;; *) oci=$architecture ;; esac
packaging/oci_image.py --binary "$built/squall" --architecture $oci --version "$version" --output "$folder/$name-oci.tar"
(cd "$folder" && sha256sum -- * > SHA256SUMS)
ls -lh "$folder"
