# The files of a release: mvn -Prelease, by docs/RELEASING.md.

full release-figures
full release

# A release needs figures of its time; a trial build does not.
check_release_figures() {
  (cd "$ROOT" && bash load-tests/run.sh --check-age) >age 2>&1 || fail "$(tail -n 1 age)"
  ok "$(tail -n 1 age)"
}

# Two clones of the commit make the same bytes, complete for Maven Central.
check_release() {
  command -v mvn >/dev/null || skip "mvn is not installed"
  local name version repository file artifact kind
  git clone -q "$ROOT" one
  git clone -q one another
  for name in one another; do
    (cd "$name" && mvn -B -q -Prelease -DskipTests -Dmaven.test.skip=true -Dspotless.check.skip=true -Drelease.figures=false) || fail "mvn -Prelease failed in a clone"
    (cd "$name/target/release" && find . -type f | sort | xargs -d '\n' sha256sum) >"$name.sums"
  done
  diff one.sums another.sums || fail "two builds differ: $(diff one.sums another.sums | grep -c '^>') files"
  (cd one/target/release && sha256sum --quiet -c SHA256SUMS && sha512sum --quiet -c SHA512SUMS) || fail "checksums are wrong"

  version=$(sed -n 's|^  <version>\(.*\)</version>$|\1|p' "$ROOT/pom.xml" | head -n 1)
  repository=one/target/release/repository/dev/berth
  for artifact in berth berth-api berth-cluster berth-testkit berth-web berth-bom; do
    for kind in .pom .jar -sources.jar -javadoc.jar; do
      [ "$artifact$kind" = berth-bom.pom ] || [ "$artifact" != berth-bom ] || continue
      file=$repository/$artifact/$version/$artifact-$version$kind
      [ -s "$file" ] || fail "$file: missing"
      for sum in md5 sha1 sha256 sha512; do
        [ "$(cat "$file.$sum")" = "$("${sum}sum" "$file" | cut -d' ' -f1)" ] || fail "$file.$sum: wrong"
      done
    done
    ! grep -n '\${' "$repository/$artifact/$version/$artifact-$version.pom" || fail "the POM of $artifact has a property"
  done
  python3 "$DEPLOY/checks/release.py" one/target/release "$version"

  # The archive runs as it is.
  tar -xzf "one/target/release/berth-$version.tar.gz"
  "berth-$version/bin/berth" --version | grep -F "$version" || fail "the archive states another version"
  "berth-$version/bin/berth" validate "berth-$version/conf/quickstart.yaml" || fail "the quickstart of the archive is not valid"
  for file in LICENSE NOTICE THIRD-PARTY lib/berth-cluster.jar conf/examples.yaml examples/images/7-3.png; do
    [ -s "berth-$version/$file" ] || fail "the archive lacks $file"
  done
  ok "$version: $(wc -l <one.sums) files, the same from two clones"
}
