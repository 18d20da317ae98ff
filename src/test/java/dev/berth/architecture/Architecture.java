package dev.berth.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.conditions.ArchConditions.onlyDependOnClassesThat;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.CompositeArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.lang.syntax.elements.GivenClassesConjunction;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.NullMarked;

/** The rules of the layout, each one a value that a test applies to a set of classes. */
final class Architecture {
  private static final String BASE = "dev.berth.";
  private static final String ROUTING = BASE + "routing.";
  private static final String SLOTS = ROUTING + "slots.";

  /** Which packages of Berth each package may import, itself apart. */
  static final SortedMap<String, Set<String>> MAY_IMPORT =
      table(
          """
          api:
          net:
          stream: api
          protocol: api stream
          web: api protocol
          view: api protocol
          config: api net
          dialect: api net protocol config
          metrics: api protocol config view
          ingress: api net stream protocol config metrics routing dialect
          routing: api stream protocol view config metrics
          replica: api stream protocol view config metrics
          controller: api protocol view config metrics
          code: api protocol config replica controller
          desired: api net protocol view config controller code
          upstream: api net protocol config dialect
          cluster: api net stream protocol view config metrics admin code desired
          admin: api net protocol view config metrics ingress
          node: api net stream protocol view config metrics ingress routing replica controller code \
            desired cluster admin upstream dialect
          testkit: api stream protocol view config metrics routing replica controller code cluster node
          cli: api node code config dialect net protocol view
          """);

  private static SortedMap<String, Set<String>> table(String rows) {
    SortedMap<String, Set<String>> table = new TreeMap<>();
    rows.lines()
        .map(row -> row.split(":"))
        .forEach(row -> table.put(row[0], row.length == 1 ? Set.of() : words(row[1])));
    return table;
  }

  private static Set<String> words(String text) {
    return Set.of(text.strip().split("\\s+"));
  }

  private static final String REPLICA = BASE + "replica";

  /** The lower layer of {@code replica}: one package, for they ask much of each other. */
  private static final Set<String> RUNS_REQUESTS =
      words(
          """
          BlockingCall BodyBounds CancelAction ExplainedInvocation HandledRequest HandlerInvoker
          HostedReplica IncomingBody Invocation RefusedRouters ReplicaLoop RequestInput RequestLogger
          ResponseOutput ResponseStream RouterPeer ServedReplica
          """);

  /** The upper one. */
  private static final Set<String> LIFE =
      words(
          """
          AutoscalingStats HealthWatch LookWheel PassiveHealth Reconfigurations Replica
          ReplicaHealth ReplicaHooks ReplicaHost ReplicaListener ReplicaSeat ReplicaStart
          ReplicaState
          """);

  /** Where the largest knot is not 8: how many types of it reach each other, and no more. */
  private static final Map<String, Integer> KNOTS =
      Map.of(
          BASE + "config", 4,
          BASE + "ingress", 5,
          BASE + "replica", 7,
          BASE + "routing", 4);

  /** Where the event bus goes by on its way to handlers. */
  private static final Set<String> PASS_BUS =
      Set.of(
          BASE + "api.ReplicaContext",
          BASE + "protocol.port.LoopExecutor",
          BASE + "replica.ReplicaStart",
          BASE + "testkit.TestVertx");

  private static final Pattern VAGUE_NAME =
      Pattern.compile(".*(Manager|Utils?|Impl|Helpers?|Service|Common)");

  /** Each package for itself, be it within another or not. */
  private static final SliceAssignment PACKAGES =
      new SliceAssignment() {
        @Override
        public SliceIdentifier getIdentifierOf(JavaClass type) {
          return SliceIdentifier.of(type.getPackageName());
        }

        @Override
        public String getDescription() {
          return "single packages";
        }
      };

  private Architecture() {}

  /** One rule for each row of the dependency table. */
  static List<ArchRule> dependencyTable() {
    List<ArchRule> rules = new ArrayList<>();
    MAY_IMPORT.forEach(
        (name, others) -> {
          List<String> allowed = new ArrayList<>(List.of(BASE + name + ".."));
          others.stream().sorted().forEach(other -> allowed.add(BASE + other + ".."));
          rules.add(
              classes()
                  .that()
                  .resideInAPackage(BASE + name + "..")
                  .should(
                      onlyDependOnClassesThat(
                          DescribedPredicate.<JavaClass>not(resideInAPackage("dev.berth.."))
                              .or(resideInAnyPackage(allowed.toArray(String[]::new)))
                              .as("are not of Berth, or are in %s", allowed))));
        });
    return rules;
  }

  /** A new package first gets its row in the table. */
  static ArchRule everyPackageStandsInTheTable() {
    return classes()
        .should()
        .resideInAnyPackage(
            MAY_IMPORT.keySet().stream().map(name -> BASE + name + "..").toArray(String[]::new));
  }

  /** Neither among packages, nor among those within them: a layer is read without those above. */
  static ArchRule noCycles() {
    return CompositeArchRule.of(slices().matching(BASE + "(*)..").should().beFreeOfCycles())
        .and(slices().assignedFrom(PACKAGES).should().beFreeOfCycles());
  }

  /** How many types of a package may all reach each other. */
  static int largestKnot(String packageName) {
    return KNOTS.getOrDefault(packageName, 8);
  }

  /** The keys are declared above what a key is. */
  static ArchRule whatAKeyIsKnowsNoKey() {
    return noClasses()
        .that()
        .resideInAPackage("dev.berth.config.keys")
        .should()
        .dependOnClassesThat(resideInAPackage("dev.berth.config"));
  }

  /** What user code compiles against is small: of Vert.x it shows futures, buffers and streams. */
  static ArchRule apiShowsLittleOfVertx() {
    return noClasses()
        .that()
        .resideInAPackage("dev.berth.api..")
        .should()
        .dependOnClassesThat(
            resideInAPackage("io..")
                .and(
                    DescribedPredicate.not(
                        resideInAnyPackage("io.vertx.core.buffer", "io.vertx.core.streams")))
                .and(
                    DescribedPredicate.not(
                        namedAnyOf(
                            "io.vertx.core.Future",
                            "io.vertx.core.Promise",
                            "io.vertx.core.Handler",
                            "io.vertx.core.Completable",
                            "io.vertx.core.AsyncResult",
                            "io.vertx.core.eventbus.EventBus"))));
  }

  /** Decisions are plain classes; the shells that wire them to Vert.x are named for it. */
  static ArchRule onlyShellsTouchVertx() {
    return noClasses()
        .that(
            describe(
                "are neither a verticle nor part of one, nor pass the event bus to applications",
                type ->
                    !isVerticle(outermost(type)) && !PASS_BUS.contains(outermost(type).getName())))
        .and()
        .resideOutsideOfPackages(
            "dev.berth.node..",
            "dev.berth.admin..",
            "dev.berth.ingress..",
            "dev.berth.cli..",
            "dev.berth.cluster..",
            "dev.berth.upstream.client..",
            "dev.berth.web..")
        .should()
        .dependOnClassesThat(
            namedAnyOf("io.vertx.core.Vertx", "io.vertx.core.internal.VertxInternal")
                .or(
                    // A message codec is a pure function that the bus calls.
                    resideInAPackage("io.vertx.core.eventbus..")
                        .and(not(namedAnyOf("io.vertx.core.eventbus.MessageCodec")))));
  }

  /** Neither they nor who names them is in {@code berth.jar}: the engine is found by its port. */
  static ArchRule consensusIsBehindItsPort() {
    return noClasses()
        .that()
        .resideOutsideOfPackage("dev.berth.cluster.ratis")
        .should()
        .dependOnClassesThat(resideInAnyPackage("org.apache.ratis..", "dev.berth.cluster.ratis"));
  }

  /** Time comes in through the constructor; the composition root alone reads a clock. */
  static ArchRule onlyTheNodeReadsTheClock() {
    return noClasses()
        .that()
        .resideOutsideOfPackages("dev.berth.node..", "dev.berth.cli..")
        .should()
        .accessTargetWhere(
            targets(
                "read a clock",
                Map.of(
                    "java.lang.System", Set.of("nanoTime", "currentTimeMillis"),
                    "java.time.Instant", Set.of("now"),
                    "java.time.LocalDateTime", Set.of("now"),
                    "java.time.ZonedDateTime", Set.of("now"),
                    "java.time.OffsetDateTime", Set.of("now"),
                    "java.time.Clock", Set.of("systemUTC", "systemDefaultZone", "system"))));
  }

  /** Chance and ids come in through the constructor too, so that a run can be replayed. */
  static ArchRule onlyTheNodeThrowsDice() {
    return noClasses()
        .that()
        .resideOutsideOfPackages("dev.berth.node..", "dev.berth.cli..")
        .should()
        .accessTargetWhere(
            targets(
                    "throw dice without a seed",
                    Map.of(
                        "java.lang.Math", Set.of("random"),
                        "java.util.UUID", Set.of("randomUUID"),
                        "java.util.concurrent.ThreadLocalRandom", Set.of("current"),
                        "java.security.SecureRandom", Set.of("<init>", "getInstanceStrong")))
                .or(
                    describe(
                        "make a Random without a seed",
                        access ->
                            access.getTarget().getFullName().equals("java.util.Random.<init>()"))));
  }

  /** Sleeping hides an order that should be stated: use a manual clock, a latch or a timer. */
  static ArchRule nobodySleeps() {
    return noClasses()
        .should()
        .accessTargetWhere(
            targets(
                "sleep",
                Map.of(
                    "java.lang.Thread", Set.of("sleep"),
                    "java.util.concurrent.TimeUnit", Set.of("sleep"))));
  }

  /** The examples are a user's project. */
  static ArchRule examplesSeeTheApiOnly() {
    return classes()
        .should(
            onlyDependOnClassesThat(
                DescribedPredicate.<JavaClass>not(resideInAPackage("dev.berth.."))
                    .or(
                        resideInAnyPackage(
                            "dev.berth.api..", "dev.berth.web..", "dev.berth.examples.."))
                    .as("are not of Berth, or are in its public API")));
  }

  static ArchRule namesSayWhatAThingIs() {
    return classes()
        .should(
            eachClass(
                "not have a name that fits everything",
                type -> !VAGUE_NAME.matcher(type.getSimpleName()).matches()));
  }

  static ArchRule everyPackageIsNullMarked() {
    return classes()
        .should(
            eachClass(
                "reside in a package whose package-info carries @NullMarked",
                type -> type.getPackage().isAnnotatedWith(NullMarked.class)));
  }

  /** Choosing is reserving: one place gives slots to all who want one. */
  static ArchRule slotsAreTakenInOnePlace() {
    Set<String> take = Set.of("take", "takeCompleted");
    return CompositeArchRule.of(
            routingOutside("Pick")
                .should()
                .accessTargetWhere(
                    targets(
                        "take a slot of a replica (give it to Pick)",
                        Map.of(
                            SLOTS + "RoutedReplica", take,
                            SLOTS + "LocalReplica", take,
                            SLOTS + "RemoteReplica", take))))
        .and(
            routingOutside("LocalReplica")
                .should()
                .accessTargetWhere(
                    targets(
                        "take a slot of a ledger (give it to Pick)",
                        Map.of(
                            BASE + "protocol.port.Slots",
                            Set.of("tryAcquire", "hold", "completeAndHold")))));
  }

  /** A request is made by its own factories, or by the selection that has a slot for it. */
  static ArchRule aRequestHasTwoDoors() {
    return routingOutside("RoutedCall", "LeasedSelection")
        .should()
        .accessTargetWhere(
            targets(
                "make a request (RoutedCall.start and RoutedCall.of do, or its selection)",
                Map.of(ROUTING + "RoutedCall", Set.of("<init>"))));
  }

  /** What waits for an answer takes it itself, so that a new kind of request changes no loop. */
  static ArchRule aLoopKnowsNoRequest() {
    return noClasses()
        .that()
        .haveFullyQualifiedName(ROUTING + "RouterLoop")
        .should()
        .dependOnClassesThat(
            namedAnyOf(
                ROUTING + "SlotRequest",
                ROUTING + "RoutedCall",
                ROUTING + "ChooseOperation",
                ROUTING + "RenewOperation",
                ROUTING + "legs.GangReservation"));
  }

  /**
   * What a request of a replica meets there is read without the replica's life, which it serves.
   */
  static ArchRule aRequestKnowsNoLife() {
    return noClasses()
        .that()
        .resideInAPackage(REPLICA)
        .and(
            describe(
                "are of what runs requests",
                type -> RUNS_REQUESTS.contains(outermost(type).getSimpleName())))
        .should()
        .dependOnClassesThat(
            resideInAPackage(REPLICA)
                .and(
                    describe(
                        "are of a replica's life (tell ReplicaRuntime)",
                        type -> LIFE.contains(outermost(type).getSimpleName()))));
  }

  private static GivenClassesConjunction routingOutside(String... names) {
    Set<String> allowed = Set.of(names);
    return noClasses()
        .that()
        .resideInAPackage(ROUTING + ".")
        .and(
            describe(
                "are not of " + String.join(" or ", names),
                type -> !allowed.contains(outermost(type).getSimpleName())));
  }

  private static JavaClass outermost(JavaClass type) {
    JavaClass outer = type;
    while (outer.getEnclosingClass().isPresent()) {
      outer = outer.getEnclosingClass().get();
    }
    return outer;
  }

  private static boolean isVerticle(JavaClass type) {
    return type.getSimpleName().endsWith("Verticle");
  }

  private static DescribedPredicate<JavaClass> namedAnyOf(String... names) {
    Set<String> set = Set.of(names);
    return describe("are any of " + set, type -> set.contains(type.getName()));
  }

  private static DescribedPredicate<JavaAccess<?>> targets(
      String description, Map<String, Set<String>> methodsByOwner) {
    return describe(
        description,
        access ->
            methodsByOwner
                .getOrDefault(access.getTargetOwner().getName(), Set.of())
                .contains(access.getName()));
  }

  private static ArchCondition<JavaClass> eachClass(
      String description, Predicate<JavaClass> holds) {
    return new ArchCondition<>(description) {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        events.add(
            new SimpleConditionEvent(
                type, holds.test(type), type.getDescription() + " should " + description));
      }
    };
  }
}
