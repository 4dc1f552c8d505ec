#!/bin/sh
# Prepares one of the programs in tests/clients that use clients of other languages: downloads what they are pinned to, by the language's
# own tool, and builds. Everything goes to FOLDER. Says first what it takes from where; does nothing that was done already.
# Arguments: go, grafana, java, node or rust, and the folder.
set -eu
cd "$(dirname "$0")/.."
language=$1
source=$PWD/tests/clients/$language
mkdir -p "$2"
folder=$(cd "$2" && pwd)

case $language in
go | grafana)
    echo "Building $folder/program from the Go module proxy: $(grep -c ' v[0-9]' "$source/go.mod") modules of tests/clients/$language/go.mod"
    cd "$source"
    exec go build -mod=readonly -o "$folder/program" .
    ;;
java)
    # Each line of jars.txt: the SHA-256, the path in Maven Central.
    grep -v '^#' "$source/jars.txt" | while read -r sum path; do
        jar=$folder/$(basename "$path")
        if ! echo "$sum  $jar" | sha256sum --check --status 2>/dev/null; then
            echo "Downloading from Maven Central: $path"
            curl --silent --show-error --fail --retry 3 --output "$jar" "https://repo1.maven.org/maven2/$path"
            echo "$sum  $jar" | sha256sum --check --quiet
        fi
    done
    exec javac -d "$folder" "$source/Main.java"
    ;;
node)
    cp "$source/package.json" "$source/main.mjs" "$folder"
    if ! cmp -s "$source/package-lock.json" "$folder/package-lock.json"; then
        echo "Installing into $folder from npm: $(grep '"@' "$source/package.json" | tr -d ' ')"
        cp "$source/package-lock.json" "$folder/package-lock.json"
        (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error) || { rm "$folder/package-lock.json"; exit 1; }
    fi
    ;;
rust)
    echo "Building $folder/debug/squall-clients from crates.io: $(grep -c '^name' "$source/Cargo.lock") crates of tests/clients/rust/Cargo.lock"
    exec cargo build --quiet --locked --manifest-path "$source/Cargo.toml" --target-dir "$folder"
    ;;
*)
    echo "No program of tests/clients is written in $language" >&2
    exit 1
    ;;
esac
