package dev.berth.build;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * The published POMs against the classes in their jars: a project that knows an artifact by its
 * coordinates alone compiles against all of it and runs all of it. {@code mvn verify} builds and
 * tests such a project ({@code src/it/coordinates/sample}).
 */
class ArtifactsTest {
  private static final Path CLASSES = Path.of("target/classes");
  private static final Pattern JAR =
      Pattern.compile("jar:file:.*/([\\w.-]+)/([^/]+)/\\1-\\2[\\w-]*\\.jar!.*");
  private static final Pattern PROPERTY = Pattern.compile("\\$\\{([\\w.-]+)}");

  /** Used where the application has it: an optional part of typed bodies. */
  private static final Set<String> OPTIONAL = Set.of("jackson-databind");

  /** Packages of each artifact, as the POM of the build puts them into its jar. */
  private static boolean isIn(String artifact, String name) {
    boolean api = name.startsWith("dev/berth/api/");
    boolean web = name.startsWith("dev/berth/web/");
    if (!artifact.equals("berth-testkit")) {
      return artifact.equals("berth-api") ? api : web;
    }
    return !api
        && !web
        && name.startsWith("dev/berth/")
        && !name.startsWith("dev/berth/cli/")
        && !name.startsWith("dev/berth/cluster/ratis/");
  }

  private static Document pom(Path file) throws Exception {
    return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file.toFile());
  }

  private static List<Element> elements(Document pom, String path) throws Exception {
    NodeList found =
        (NodeList)
            XPathFactory.newInstance().newXPath().evaluate(path, pom, XPathConstants.NODESET);
    List<Element> elements = new ArrayList<>();
    for (int i = 0; i < found.getLength(); i++) {
      elements.add((Element) found.item(i));
    }
    return elements;
  }

  private static String text(Element of, String name) {
    return of.getElementsByTagName(name).item(0).getTextContent();
  }

  /** Versions by artifact id, those of Berth's own artifacts that it depends on included. */
  private static Map<String, String> declared(String artifact) throws Exception {
    Document build = pom(Path.of("pom.xml"));
    Map<String, String> declared = new TreeMap<>();
    Document published = pom(Path.of("src/artifacts/" + artifact + ".xml"));
    for (Element each : elements(published, "/project/dependencies/dependency")) {
      String id = text(each, "artifactId");
      if (id.startsWith("berth-")) {
        declared.putAll(declared(id));
        continue;
      }
      Matcher property = PROPERTY.matcher(text(each, "version"));
      assertThat(property.matches()).as("version of %s: a property of the build", id).isTrue();
      declared.put(
          id, elements(build, "/project/properties/" + property.group(1)).get(0).getTextContent());
    }
    return declared;
  }

  /** Files of the artifact's classes. */
  private static List<Path> classes(String artifact) throws IOException {
    try (Stream<Path> files = Files.walk(CLASSES)) {
      return files
          .filter(each -> each.toString().endsWith(".class"))
          .filter(each -> isIn(artifact, CLASSES.relativize(each).toString()))
          .toList();
    }
  }

  /** References that a project with these coordinates alone does not resolve. */
  private static TreeSet<String> missing(
      Iterable<Path> classes, String artifact, Map<String, String> declared) throws IOException {
    TreeSet<String> missing = new TreeSet<>();
    for (Path file : classes) {
      for (String name : ClassReferences.of(file)) {
        URL found = ArtifactsTest.class.getClassLoader().getResource(name + ".class");
        if (found == null || found.getProtocol().equals("jrt")) {
          continue; // of the JDK, or of what is nowhere in the build
        }
        Matcher jar = JAR.matcher(found.toString());
        String from = CLASSES.relativize(file) + " refers to " + name;
        if (!jar.matches()) {
          boolean own =
              artifact.equals("berth-web") // runs in an instance or in the test kit
                  || isIn(artifact, name)
                  || isIn("berth-api", name)
                  || isIn("berth-web", name) && artifact.equals("berth-testkit");
          if (!own) {
            missing.add(from + ", which is in neither jar");
          }
        } else if (!OPTIONAL.contains(jar.group(1))
            && !jar.group(2).equals(declared.get(jar.group(1)))) {
          missing.add(
              "%s of %s %s (declared: %s)"
                  .formatted(from, jar.group(1), jar.group(2), declared.get(jar.group(1))));
        }
      }
    }
    return missing;
  }

  @Test
  void apiPomDeclaresAllThatItsClassesReferTo() throws Exception {
    List<Path> classes = classes("berth-api");
    assertThat(classes).hasSizeGreaterThan(20);
    assertThat(missing(classes, "berth-api", declared("berth-api"))).isEmpty();
  }

  @Test
  void webPomDeclaresAllThatItsClassesReferTo() throws Exception {
    List<Path> classes = classes("berth-web");
    assertThat(classes).hasSizeGreaterThan(20);
    assertThat(missing(classes, "berth-web", declared("berth-web"))).isEmpty();
  }

  @Test
  void testkitPomDeclaresAllThatItsClassesReferTo() throws Exception {
    List<Path> classes = classes("berth-testkit");
    assertThat(classes).hasSizeGreaterThan(200);
    assertThat(missing(classes, "berth-testkit", declared("berth-testkit"))).isEmpty();
  }

  @Test
  void missingDependencyIsReportedWithItsReference() throws Exception {
    Map<String, String> declared = declared("berth-testkit");
    declared.remove("re2j");
    assertThat(missing(classes("berth-testkit"), "berth-testkit", declared))
        .isNotEmpty()
        .allSatisfy(each -> assertThat(each).contains("com/google/re2j").contains("re2j 1."));
  }

  private static List<Path> publishedPoms() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("src/artifacts"))) {
      return files.filter(each -> each.toString().endsWith(".xml")).sorted().toList();
    }
  }

  /** Source: the requirements of Maven Central for a published component. */
  @Test
  void publishedPomsSatisfyTheRulesOfMavenCentral() throws Exception {
    assertThat(publishedPoms()).hasSize(6);
    List<Path> all = new ArrayList<>(publishedPoms());
    all.add(Path.of("pom.xml"));
    for (Path file : all) {
      Document pom = pom(file);
      for (String required :
          List.of(
              "groupId",
              "artifactId",
              "version",
              "name",
              "description",
              "url",
              "licenses/license/name",
              "licenses/license/url",
              "developers/developer/name",
              "developers/developer/organization",
              "developers/developer/organizationUrl",
              "scm/connection",
              "scm/developerConnection",
              "scm/url")) {
        assertThat(elements(pom, "/project/" + required))
            .as("%s: %s", file, required)
            .singleElement()
            .satisfies(each -> assertThat(each.getTextContent()).isNotBlank());
      }
      assertThat(elements(pom, "/project/repositories")).as("%s: repositories", file).isEmpty();
      assertThat(elements(pom, "//dependency[version[contains(., 'SNAPSHOT')]]")).isEmpty();
    }
  }

  @Test
  void bomNamesAllOtherArtifacts() throws Exception {
    List<String> others =
        publishedPoms().stream()
            .map(each -> each.getFileName().toString().replace(".xml", ""))
            .filter(each -> !each.equals("berth-bom"))
            .toList();
    Document bom = pom(Path.of("src/artifacts/berth-bom.xml"));
    assertThat(elements(bom, "/project/dependencyManagement/dependencies/dependency"))
        .extracting(each -> text(each, "artifactId"))
        .containsExactlyInAnyOrderElementsOf(others);
  }

  @Test
  void documentsNameTheVersionOfTheBuild() throws Exception {
    String version = elements(pom(Path.of("pom.xml")), "/project/version").get(0).getTextContent();
    for (String file :
        List.of(
            "docs/guide/packaging.md",
            "docs/getting-started.md",
            "src/it/coordinates/sample/pom.xml")) {
      assertThat(Files.readString(Path.of(file)))
          .as(file)
          .containsPattern("version>" + Pattern.quote(version) + "</");
    }
    assertThat(Files.readString(Path.of("docs/CHANGELOG.md"))).contains("\n## " + version);
    for (Map.Entry<String, String> each :
        Map.of(
                "README.md", "dev.berth:berth-api:",
                "deploy/helm/berth/Chart.yaml", "appVersion: ",
                "deploy/kubernetes/base/kustomization.yaml", "newTag: ",
                "deploy/kubernetes/overlays/cluster/kustomization.yaml", "newTag: ",
                "deploy/compose/compose.yaml", "image: berth:")
            .entrySet()) {
      assertThat(Files.readString(Path.of(each.getKey())))
          .as(each.getKey())
          .contains(each.getValue() + version);
    }
  }
}
