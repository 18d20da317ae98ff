package dev.berth.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.CompositeArchRule;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each rule can fail: a violation of it, compiled into the packages of Berth, is caught, and the
 * same thing where it is allowed is not.
 */
class ArchitectureRulesTest {
  private static final Pattern PACKAGE = Pattern.compile("package ([\\w.]+);");
  private static final Pattern NAME = Pattern.compile("(?:class|interface|record) (\\w+)");

  private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();
  @AutoClose private static StandardJavaFileManager files;

  @TempDir Path dir;

  @BeforeAll
  static void openTheClassPathOnce() {
    files = COMPILER.getStandardFileManager(null, null, null);
  }

  static Stream<Arguments> violations() {
    return Stream.of(
        row(
            "routing imports replica",
            table(),
            "replica; public class Ledger {}",
            "routing; class Chooser { dev.berth.replica.Ledger ledger; }"),
        row(
            "replica imports controller",
            table(),
            "controller; public class Plan {}",
            "replica; class Ledger { void apply(dev.berth.controller.Plan plan) {} }"),
        row(
            "a package nobody planned",
            Architecture.everyPackageStandsInTheTable(),
            "misc; class Thing {}"),
        row(
            "two packages import each other",
            Architecture.noCycles(),
            "metrics; public class A { dev.berth.config.B b; }",
            "config; public class B { dev.berth.metrics.A a; }"),
        row(
            "a package and one within it import each other",
            Architecture.noCycles(),
            "routing.slots; public class A { dev.berth.routing.B b; }",
            "routing; public class B { dev.berth.routing.slots.A a; }"),
        row(
            "packages within one import each other in a circle",
            Architecture.noCycles(),
            "routing.slots; public class A { dev.berth.routing.B b; }",
            "routing; public class B { dev.berth.routing.legs.C c; }",
            "routing.legs; public class C { dev.berth.routing.slots.A a; }"),
        row(
            "what a key is knows one",
            Architecture.whatAKeyIsKnowsNoKey(),
            "config; public class HttpOptions {}",
            "config.keys; class Section { dev.berth.config.HttpOptions o; }"),
        row(
            "the public interface shows Vertx",
            Architecture.apiShowsLittleOfVertx(),
            "api; class Request { io.vertx.core.Vertx vertx; }"),
        row(
            "a plain class holds Vertx",
            Architecture.onlyShellsTouchVertx(),
            "routing; class Chooser { io.vertx.core.Vertx vertx; }"),
        row(
            "a plain class holds the event bus",
            Architecture.onlyShellsTouchVertx(),
            "replica; class Ledger { void tell(io.vertx.core.eventbus.EventBus bus) {} }"),
        row(
            "a call reads the clock",
            Architecture.onlyTheNodeReadsTheClock(),
            "routing; class A { long now = System.nanoTime(); }"),
        row(
            "a method reference reads the clock",
            Architecture.onlyTheNodeReadsTheClock(),
            "routing; class A { java.util.function.LongSupplier now = System::currentTimeMillis;"
                + " }"),
        row(
            "dice without a seed",
            Architecture.onlyTheNodeThrowsDice(),
            "routing; class A { Object r = new java.util.Random(); }"),
        row(
            "dice of the thread",
            Architecture.onlyTheNodeThrowsDice(),
            "routing; class A { int r ="
                + " java.util.concurrent.ThreadLocalRandom.current().nextInt(); }"),
        row(
            "a queue takes a slot of a replica",
            Architecture.slotsAreTakenInOnePlace(),
            "routing.slots; class LocalReplica { Object take(long hold) { return this; } }",
            "routing.slots; class Queue { Object of(LocalReplica replica) { return"
                + " replica.take(1); } }"),
        row(
            "a queue takes the slot of one that completes",
            Architecture.slotsAreTakenInOnePlace(),
            "routing.slots; class RoutedReplica { Object takeCompleted(long hold) { return this;"
                + " } }",
            "routing.slots; class Queue { Object of(RoutedReplica replica) { return"
                + " replica.takeCompleted(1); } }"),
        row(
            "a pick asks a ledger",
            Architecture.slotsAreTakenInOnePlace(),
            "protocol.port; public interface Slots { boolean tryAcquire(); }",
            "routing.slots; class Pick { boolean of(dev.berth.protocol.port.Slots slots) { return"
                + " slots.tryAcquire(); } }"),
        row(
            "a handle makes a request",
            Architecture.aRequestHasTwoDoors(),
            "routing; class RoutedCall {}",
            "routing; class Handle { Object call() { return new RoutedCall(); } }"),
        row(
            "a loop asks what waits",
            Architecture.aLoopKnowsNoRequest(),
            "routing; class ChooseOperation {}",
            "routing; class RouterLoop { boolean is(Object waits) { return waits instanceof"
                + " ChooseOperation; } }"),
        row(
            "an invocation ends its replica",
            Architecture.aRequestKnowsNoLife(),
            "replica; class Replica { void kill() {} }",
            "replica; class Invocation { void end(Replica of) { of.kill(); } }"),
        row(
            "a sleep",
            Architecture.nobodySleeps(),
            "node; class A { void rest() throws InterruptedException { Thread.sleep(1); } }"),
        row(
            "an example that reaches into the runtime",
            Architecture.examplesSeeTheApiOnly(),
            "protocol; public class Wire {}",
            "examples; class Demo { dev.berth.protocol.Wire wire; }"),
        row(
            "a name that fits everything",
            Architecture.namesSayWhatAThingIs(),
            "routing.slots; class QueueManager {}"),
        row(
            "a package without @NullMarked",
            Architecture.everyPackageIsNullMarked(),
            "routing; class A {}"));
  }

  static Stream<Arguments> allowed() {
    return Stream.of(
        row(
            "ingress imports routing, node imports all",
            table(),
            "routing; public class Chooser {}",
            "ingress; class Door { dev.berth.routing.Chooser chooser; }",
            "node; class Wiring { dev.berth.routing.Chooser chooser; }"),
        row(
            "a verticle and what is nested in it hold Vertx",
            Architecture.onlyShellsTouchVertx(),
            "routing; class RouterVerticle { io.vertx.core.Vertx vertx; static class Sender {"
                + " io.vertx.core.eventbus.EventBus bus; } }"),
        row(
            "the node reads the clock and throws dice",
            CompositeArchRule.of(
                List.of(
                    Architecture.onlyTheNodeReadsTheClock(), Architecture.onlyTheNodeThrowsDice())),
            "node; class A { long now = System.nanoTime(); Object r = new"
                + " java.security.SecureRandom(); }"),
        row(
            "a pick takes, a replica asks its ledger, a call makes itself",
            CompositeArchRule.of(
                List.of(
                    Architecture.slotsAreTakenInOnePlace(), Architecture.aRequestHasTwoDoors())),
            "protocol.port; public interface Slots { boolean tryAcquire(); }",
            "routing; class RoutedCall { static Object of() { return new RoutedCall(); } }",
            "routing.slots; class LocalReplica { dev.berth.protocol.port.Slots slots; boolean"
                + " take(long hold) { return slots.tryAcquire(); } }",
            "routing.slots; class Pick { boolean of(LocalReplica replica) { return"
                + " replica.take(1); } }"),
        row(
            "dice with a seed",
            Architecture.onlyTheNodeThrowsDice(),
            "routing; class A { Object r = new java.util.Random(7); }"),
        row(
            "an example that uses the public interface",
            Architecture.examplesSeeTheApiOnly(),
            "api; public class Request {}",
            "examples; class Demo { dev.berth.api.Request request; }"));
  }

  /** Sources without the {@code package dev.berth.} that they all begin with. */
  private static Arguments row(String name, ArchRule rule, String... sources) {
    return Arguments.of(
        name, rule, Stream.of(sources).map(source -> "package dev.berth." + source).toList());
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("violations")
  void aPlantedViolationIsCaught(String name, ArchRule rule, List<String> sources)
      throws IOException {
    assertThat(rule.evaluate(compile(sources)).hasViolation()).as(name).isTrue();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("allowed")
  void whatIsAllowedIsNotCaught(String name, ArchRule rule, List<String> sources)
      throws IOException {
    assertThat(rule.evaluate(compile(sources)).getFailureReport().getDetails()).as(name).isEmpty();
  }

  @Test
  void aKnotIsOfTypesThatReachEachOtherAndOfNoOthers() throws IOException {
    JavaClasses classes =
        compile(
            List.of(
                "package dev.berth.routing; class A { B[] next; Lone lone; }",
                "package dev.berth.routing; class B { static class In { C next; } }",
                "package dev.berth.routing; class C { Object next = new A(); }",
                "package dev.berth.routing; class Lone { Lone self; }",
                "package dev.berth.routing; class Above { A below; Lone lone; }"));
    assertThat(Knots.of(classes))
        .containsExactly(
            Map.entry("dev.berth.routing", List.of(new TreeSet<>(Set.of("A", "B", "C")))));
  }

  @Test
  void anInterfaceOfOneClassBesideItIsLone() throws IOException {
    String lone =
        "package dev.berth.routing; public interface Lone { class One implements Lone {} }";
    JavaClasses classes =
        compile(
            List.of(
                lone,
                "package dev.berth.routing; public interface Port {}",
                "package dev.berth.replica; class Ported implements dev.berth.routing.Port {}",
                "package dev.berth.routing; interface Two { class A implements Two {}"
                    + " class B extends A {} }",
                "package dev.berth.routing; interface ByLambda { void run();"
                    + " static ByLambda of() { return () -> {}; } class C implements ByLambda {"
                    + " public void run() {} } }",
                "package dev.berth.api; interface OfUsers { class D implements OfUsers {} }"));
    Path folder = dir.resolve("classes");
    assertThat(LoneInterfaces.of(classes, new ClassFileImporter().importClasses(), folder))
        .singleElement()
        .asString()
        .startsWith("dev.berth.routing.Lone: one implementation (expected: two, a lambda");
    compile(List.of(lone, "package dev.berth.routing; class Fake implements Lone {}"));
    JavaClasses tests =
        new ClassFileImporter().importPath(folder.resolve("dev/berth/routing/Fake.class"));
    assertThat(LoneInterfaces.of(classes, tests, folder)).isEmpty();
  }

  @Test
  void everyRowOfTheTableNamesRowsOfTheTable() {
    assertThat(Architecture.MAY_IMPORT.values())
        .allSatisfy(row -> assertThat(Architecture.MAY_IMPORT.keySet()).containsAll(row));
  }

  private static ArchRule table() {
    return CompositeArchRule.of(Architecture.dependencyTable());
  }

  private JavaClasses compile(List<String> sources) throws IOException {
    Path out = Files.createDirectories(dir.resolve("classes"));
    List<Path> paths = new ArrayList<>();
    for (String source : sources) {
      Path file =
          dir.resolve(first(PACKAGE, source).replace('.', '/'))
              .resolve(first(NAME, source) + ".java");
      Files.createDirectories(file.getParent());
      paths.add(Files.writeString(file, source));
    }
    StringWriter messages = new StringWriter();
    List<String> options = List.of("-proc:none", "-d", out.toString());
    boolean compiled =
        COMPILER
            .getTask(messages, files, null, options, null, files.getJavaFileObjectsFromPaths(paths))
            .call();
    assertThat(compiled).as(messages.toString()).isTrue();
    return new ClassFileImporter().importPath(out);
  }

  private static String first(Pattern pattern, String source) {
    Matcher matcher = pattern.matcher(source);
    assertThat(matcher.find()).as(source).isTrue();
    return matcher.group(1);
  }
}
