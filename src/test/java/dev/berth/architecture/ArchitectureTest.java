package dev.berth.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import dev.berth.api.Request;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The code as it stands obeys the rules of its layout. */
class ArchitectureTest {
  private static JavaClasses main;
  private static JavaClasses tests;

  @BeforeAll
  static void readTheClasses() throws URISyntaxException {
    main = new ClassFileImporter().importPath(whereItLies(Request.class));
    tests = new ClassFileImporter().importPath(whereItLies(ArchitectureTest.class));
    // A wrong path would make every rule below hold.
    assertThat(main.contain("dev.berth.api.Request")).isTrue();
    assertThat(tests.contain(ArchitectureTest.class)).isTrue();
  }

  /** Whatever built the classes, and wherever it put them. */
  private static Path whereItLies(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  @TestFactory
  Iterable<DynamicTest> aPackageImportsOnlyWhatTheTableAllows() {
    return Architecture.dependencyTable().stream()
        .map(rule -> DynamicTest.dynamicTest(rule.getDescription(), () -> rule.check(main)))
        .toList();
  }

  @Test
  void everyPackageStandsInTheTable() {
    Architecture.everyPackageStandsInTheTable().check(main);
  }

  @Test
  void packagesHaveNoCycles() {
    Architecture.noCycles().check(main);
  }

  /** What it says when it fails is the whole list, so that a figure here can fall. */
  @Test
  void knotsOfTypesOnlyGetSmaller() {
    SortedMap<String, List<SortedSet<String>>> knots = Knots.of(main);
    assertThat(knots)
        .allSatisfy(
            (name, found) ->
                assertThat(found.get(0))
                    .as("%s: types that all reach each other; give one of them an order", name)
                    .hasSizeLessThanOrEqualTo(Architecture.largestKnot(name)));
  }

  @Test
  void whatAKeyIsKnowsNoKey() {
    Architecture.whatAKeyIsKnowsNoKey().check(main);
  }

  @Test
  void theApiShowsLittleOfVertx() {
    Architecture.apiShowsLittleOfVertx().check(main);
  }

  @Test
  void onlyVerticlesAndOuterShellsTouchVertx() {
    Architecture.onlyShellsTouchVertx().check(main);
  }

  @Test
  void consensusIsBehindItsPort() {
    assertThat(main.contain("dev.berth.cluster.ratis.RatisEngine")).isTrue();
    Architecture.consensusIsBehindItsPort().check(main);
  }

  @Test
  void onlyTheNodeReadsTheClock() {
    Architecture.onlyTheNodeReadsTheClock().check(main);
  }

  @Test
  void onlyTheNodeThrowsDice() {
    Architecture.onlyTheNodeThrowsDice().check(main);
  }

  @Test
  void slotsAreTakenInOnePlace() {
    Architecture.slotsAreTakenInOnePlace().check(main);
  }

  @Test
  void aRequestHasTwoDoors() {
    Architecture.aRequestHasTwoDoors().check(main);
  }

  @Test
  void aLoopKnowsNoRequest() {
    assertThat(main.contain("dev.berth.routing.RouterLoop")).isTrue();
    Architecture.aLoopKnowsNoRequest().check(main);
  }

  @Test
  void aRequestKnowsNothingOfItsReplicasLife() {
    Architecture.aRequestKnowsNoLife().check(main);
  }

  @Test
  void anInterfaceHasTwoImplementationsOrIsAPort() throws Exception {
    assertThat(
            LoneInterfaces.of(
                main, tests, whereItLies(Request.class), whereItLies(ArchitectureTest.class)))
        .isEmpty();
  }

  @Test
  void nobodySleepsInCodeOrTests() {
    ArchRule rule = Architecture.nobodySleeps();
    rule.check(main);
    rule.check(tests);
  }

  @Test
  void theExamplesSeeThePublicApiOnly() {
    Path classes = Path.of("target", "examples-classes");
    if (Files.isDirectory(classes)) {
      Architecture.examplesSeeTheApiOnly().check(new ClassFileImporter().importPath(classes));
    } else {
      assertThat(Path.of("src", "examples", "java")).doesNotExist();
    }
  }

  @Test
  void namesSayWhatAThingIs() {
    Architecture.namesSayWhatAThingIs().check(main);
  }

  @Test
  void everyPackageIsNullMarked() {
    Architecture.everyPackageIsNullMarked().check(main);
  }
}
