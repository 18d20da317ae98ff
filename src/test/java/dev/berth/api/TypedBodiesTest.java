package dev.berth.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.util.BufferRecyclers;
import dev.berth.fakes.RandomMessages;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.testkit.TestBerth;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Handlers and handles of values, in the test kit, which sends all of them as JSON. */
class TypedBodiesTest {
  @AutoClose private TestBerth berth;

  enum Kind {
    FISH,
    BREAD
  }

  record Item(Kind kind, int count) {}

  record Order(String id, List<Item> items) {
    Order {
      if (id != null && id.isEmpty()) {
        throw new IllegalArgumentException("id is empty");
      }
      if ("full".equals(id)) {
        throw new OutOfMemoryError("only in this test");
      }
    }
  }

  record Price(String id, long cents) {}

  record Sku(String name) {}

  record Clashing(@JsonProperty("a") String one, @JsonProperty("a") String two) {}

  private static final Order ORDER = new Order("o-1", List.of(new Item(Kind.FISH, 2)));

  private int called;

  private Price price(Order order, RequestContext context) {
    called++;
    return new Price(order.id(), 700L * order.items().get(0).count());
  }

  private static TestBerth berth(Deployment... deployments) {
    return TestBerth.start(
        Application.of(
            Deployment.async(
                "front",
                (request, context) -> Future.failedFuture(new AssertionError("not called"))),
            deployments));
  }

  private TestBerth priced() {
    return berth(Deployment.blocking("price", Order.class, this::price));
  }

  private static TypedHandle<Order, Price> handle(TestBerth berth) {
    return berth.handle("price").typed(Order.class, Price.class);
  }

  private Throwable failure(Response response) {
    berth =
        berth(Deployment.async("price", (request, context) -> Future.succeededFuture(response)));
    Throwable failure = berth.awaitFailure(handle(berth).call(ORDER));
    assertThat(failure).isInstanceOf(BerthException.HandlerFailed.class);
    berth.assertAtRest();
    return failure;
  }

  @Test
  void anOrderGoesInAndAPriceComesBack() {
    berth = priced();
    assertThat(berth.await(handle(berth).call(ORDER))).isEqualTo(new Price("o-1", 1_400));
    berth.assertAtRest();
  }

  @Test
  void aFunctionMayAnswerLaterAndCallOthersWithValues() {
    Deployment shop =
        Deployment.async(
            "shop",
            Sku.class,
            (sku, context) ->
                context
                    .handle("price")
                    .typed(Order.class, Price.class)
                    .call(new Order(sku.name(), ORDER.items())));
    berth = berth(shop, Deployment.blocking("price", Order.class, this::price));
    Future<Price> price = berth.handle("shop").typed(Sku.class, Price.class).call(new Sku("pike"));
    assertThat(berth.await(price)).isEqualTo(new Price("pike", 1_400));
    berth.assertAtRest();
  }

  @Test
  void whoSpeaksJsonNeedsNoTypes() {
    berth = priced();
    Request request =
        Request.post(
            "/any", Buffer.buffer("{\"id\":\"x\",\"items\":[{\"kind\":\"BREAD\",\"count\":1}]}"));
    Response response = berth.call("price", request);
    assertThat(response.status()).isEqualTo(200);
    assertThat(response.headers().get("content-type")).isEqualTo("application/json");
    assertThat(berth.text(response)).isEqualTo("{\"id\":\"x\",\"cents\":700}");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      textBlock =
          """
          {"id":"a","items":[{"kind":"FISH","count":"two"}]} | items[0].count | "two": not a valid `int`
          {"id":"a","items":[{"kind":"FISH"},{"kind":"FISH","count":null}]} | items[0].count | Cannot map `null` into type `int`
          {"id":"a","items":[{"kind":"COW","count":1}]} | items[0].kind | of type `Kind` from String "COW"
          {"id":"a","items":[{"kind":"FISH","count":99999999999}]} | items[0].count | out of range of int
          {"id":"a","colour":"red"} | colour | Unrecognized field "colour"
          {"id":"","items":[]} | body | id is empty
          {"id":"a","items":{}} | items | from Object value
          [] | body | Cannot deserialize value of type `Order` from Array value
          null | body | null, and not a Order
          {"id": | body | Unexpected end-of-input
          {"id":"a","items":[]} {} | body | Trailing token
          '' | body | No content to map
          """)
  void aBodyThatIsNoneIsRefusedByTheNameOfItsField(String json, String field, String message) {
    berth = priced();
    Response response = berth.call("price", Request.post("/", Buffer.buffer(json)));
    assertThat(response.status()).isEqualTo(400);
    assertThat(response.headers().get("content-type")).isEqualTo("application/json");
    JsonObject told = berth.bytes(response).toJsonObject();
    assertThat(told.getString("code")).isEqualTo("invalid_body");
    assertThat(told.getString("field")).isEqualTo(field);
    assertThat(told.getString("message")).startsWith(field + ": ").contains(message);
    assertThat(told.getString("message"))
        .doesNotContain("dev.berth", "jackson", "java.", "Feature");
    assertThat(called).isZero();
    berth.assertAtRest();
  }

  @Test
  void aKeyOfAnyLengthIsRefusedInAFewWords() {
    for (String key : List.of("k".repeat(40_000), ",a" + ".a".repeat(20_000))) {
      try (TestBerth berth = priced()) {
        Request request = Request.post("/", Buffer.buffer("{\"" + key + "\":1}"));
        Response response = berth.call("price", request);
        assertThat(response.status()).isEqualTo(400);
        assertThat(berth.bytes(response).length()).isLessThan(1_100);
        berth.assertAtRest();
      }
    }
  }

  @Test
  void aBrokenJvmIsNotTheSendersFault() {
    berth = priced();
    Request full = Request.post("/", Buffer.buffer("{\"id\":\"full\",\"items\":[]}"));
    assertThat(berth.awaitFailure(berth.handle("price").call(full)))
        .isInstanceOf(BerthException.HandlerFailed.class);
    berth.assertAtRest();
  }

  /** What is done to a value later nobody sees, nor is one that cannot change passed as it is. */
  @Test
  void theTestKitPassesNothingAsItIs() {
    List<Object> received = new ArrayList<>();
    berth =
        berth(
            Deployment.blocking("orders", Order.class, (order, c) -> kept(order, received)),
            Deployment.async(
                "skus", Sku.class, (sku, c) -> Future.succeededFuture(kept(sku, received))));
    List<Item> items = new ArrayList<>(ORDER.items());
    Order order = new Order("o", items);
    Sku sku = new Sku("pike");
    Future<Order> orderBack = berth.handle("orders").typed(Order.class, Order.class).call(order);
    items.clear();
    assertThat(berth.await(orderBack).items()).hasSize(1);
    Sku skuBack = berth.await(berth.handle("skus").typed(Sku.class, Sku.class).call(sku));
    assertThat(received).containsExactly(orderBack.result(), sku);
    assertThat(received.get(0)).isNotSameAs(orderBack.result());
    assertThat(received.get(1)).isNotSameAs(sku).isNotSameAs(skuBack);
    assertThat(skuBack).isEqualTo(sku).isNotSameAs(sku);
  }

  private static <T> T kept(T value, List<Object> received) {
    received.add(value);
    return value;
  }

  @Test
  void aFunctionThatAnswersAResponseHasItsSay() {
    Deployment teapot =
        Deployment.blocking("price", Sku.class, (sku, context) -> Response.json(418, "{}"));
    berth = berth(teapot);
    assertThat(berth.call("price", Request.post("/", Buffer.buffer("{\"name\":\"a\"}"))).status())
        .isEqualTo(418);
  }

  @Test
  void aFunctionThatAnswersNothingHasFailed() {
    List<Deployment> all =
        List.of(
            Deployment.blocking("price", Order.class, (order, context) -> null),
            Deployment.async("price", Order.class, (order, context) -> null),
            Deployment.async("price", Order.class, (o, context) -> Future.succeededFuture(null)),
            Deployment.blocking("price", Order.class, (o, context) -> new Clashing("a", "b")));
    for (Deployment each : all) {
      try (TestBerth berth = berth(each)) {
        assertThat(berth.awaitFailure(handle(berth).call(ORDER)))
            .isInstanceOf(BerthException.HandlerFailed.class);
        berth.assertAtRest();
      }
    }
  }

  @Test
  void anAnswerThatIsNoneIsTheCallersFailureByItsField() {
    assertThat(failure(Response.json(200, "{\"id\":\"a\",\"cents\":\"x\"}")))
        .hasMessageStartingWith("response of default#price: cents: ");
    assertThat(failure(Response.json(400, "{\"no\":1}")))
        .hasMessage("default#price: answered 400 (expected: 2xx): {\"no\":1}");
  }

  @Test
  void anAnswerIsAsLongAsItsBoundAtMost() {
    String id = "i".repeat(200_000);
    Deployment large =
        Deployment.blocking("price", Order.class, (order, context) -> new Price(id, 1));
    berth = berth(large);
    assertThat(berth.await(handle(berth).call(ORDER)).id()).isEqualTo(id);
    assertThat(berth.awaitFailure(handle(berth).withMaxResponseBytes(100_000).call(ORDER)))
        .isInstanceOf(BerthException.HandlerFailed.class)
        .hasMessage("response of default#price: over 100000 bytes (expected: at most as many)");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> handle(berth).withMaxResponseBytes(65_535));
    berth.assertAtRest();
  }

  @Test
  void aLargeValueMeetsTheBoundsOfItsJson() {
    berth =
        TestBerth.of(Application.of(Deployment.blocking("price", Order.class, this::price)))
            .set("price", "berth.max_buffered_body_bytes", 100_000)
            .start();
    Order large = new Order("i".repeat(100_000), ORDER.items());
    assertThat(berth.awaitFailure(handle(berth).call(large)))
        .isInstanceOf(BerthException.PayloadTooLarge.class);
    assertThat(called).isZero();
    berth.assertAtRest();
  }

  @Test
  void aValueWithoutJsonFailsItsCallAndIsNotSent() {
    berth = priced();
    TypedHandle<Clashing, Price> clashing =
        berth.handle("price").typed(Clashing.class, Price.class);
    assertThat(berth.awaitFailure(clashing.call(new Clashing("a", "b"))))
        .isInstanceOf(BerthException.HandlerFailed.class)
        .hasMessageStartingWith("request of default#price: ");
    assertThat(berth.ledger("price").granted()).isZero();
    assertThatNullPointerException().isThrownBy(() -> handle(berth).call(null));
  }

  @Test
  void aTypedCallIsCancelledAsOthersAre() {
    berth = priced();
    ReplicaSelection[] held = new ReplicaSelection[5];
    for (int i = 0; i < held.length; i++) {
      held[i] = berth.await(berth.handle("price").choose());
    }
    Pending<Price> call = handle(berth).start(ORDER);
    berth.run();
    assertThat(berth.queued("price")).isEqualTo(1);
    call.cancel();
    assertThat(berth.awaitFailure(call.future())).isInstanceOf(BerthException.Cancelled.class);
    List.of(held).forEach(each -> berth.await(each.close()));
    berth.assertAtRest();
  }

  @Test
  void aSharedValueCrossesToAnotherInstanceAsItsJson() {
    Json json = Json.of(Sku.class, Sku.class);
    TypedValue shared = new TypedValue(json, new Sku("pike"));
    assertThat(shared.length()).isGreaterThan("{\"name\":\"pike\"}".length());
    Buffer wire = Buffer.buffer();
    Request sent = Request.get("/").withBody(new Request.Body.Whole(shared));
    WireCodec.encode(RandomMessages.call(sent), wire);
    Request there = ((CallRequest) WireCodec.decode(0, wire)).request();
    assertThat(there.bytes().toString()).isEqualTo("{\"name\":\"pike\"}");
    assertThat(WholeBody.typed(there.body())).isNull();
  }

  // --- whose Jackson ---

  /** Has classes of its own, and sees no Jackson but what it is given. */
  private static final class Own extends ClassLoader {
    private final Function<String, Boolean> hides;

    Own(Function<String, Boolean> hides) {
      super(TypedBodiesTest.class.getClassLoader());
      this.hides = hides;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (hides.apply(name)) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith(TypedBodiesTest.class.getName())
          && !name.startsWith("com.fasterxml.jackson.databind.")) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        if (known != null) {
          return known;
        }
        try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
          byte[] bytes = file.readAllBytes();
          return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException | NullPointerException missing) {
          throw new ClassNotFoundException(name);
        }
      }
    }
  }

  private static Class<?> skuIn(Own loader) throws ClassNotFoundException {
    return Class.forName(Sku.class.getName(), true, loader);
  }

  @ParameterizedTest
  @CsvSource({
    "databind, not among the application's jars (expected there, for bodies of dev.berth.api.",
    "annotation, com/fasterxml/jackson/annotation/"
  })
  void anApplicationWithoutAllOfJacksonIsToldWhatToAdd(String part, String said) throws Exception {
    String packageName = "com.fasterxml.jackson." + part + ".";
    Own loader = new Own(name -> name.startsWith(packageName));
    Class<?> sku = skuIn(loader);
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(loader);
    try {
      assertThatIllegalStateException()
          .isThrownBy(() -> Json.of(sku, sku))
          .withMessageStartingWith("com.fasterxml.jackson.core:jackson-databind: ")
          .withMessageContaining(said);
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  @Test
  void eachApplicationHasTheJacksonThatItBrought() throws Exception {
    Json first = Json.of(skuIn(new Own(name -> false)), Object.class);
    Json second = Json.of(skuIn(new Own(name -> false)), Object.class);
    assertThat(first).isNotSameAs(second).isNotSameAs(Json.of(Sku.class, Object.class));
    assertThat(Json.of(Sku.class, Object.class)).isSameAs(Json.of(Order.class, Object.class));
  }

  /** Code of an application; {@code Json} is of another loader, and so called by reflection. */
  record Asking(Method of) implements Callable<Object> {
    @Override
    public Object call() throws ReflectiveOperationException {
      return of.invoke(null, String.class, Integer.class);
    }
  }

  @Test
  void bodiesOfTheJdkAloneAreReadAsTheirCallersApplicationReads() throws Exception {
    Own loader = new Own(name -> false);
    Method of = Json.class.getDeclaredMethod("of", Class.class, Class.class);
    of.setAccessible(true);
    Constructor<?> asking =
        Class.forName(Asking.class.getName(), true, loader).getDeclaredConstructor(Method.class);
    asking.setAccessible(true);
    assertThat(((Callable<?>) asking.newInstance(of)).call())
        .isSameAs(Json.of(skuIn(loader), Object.class));
  }

  @SuppressWarnings("deprecation") // where Jackson has them by default
  private static final class BuffersOfThread extends BufferRecyclers {
    static boolean kept() {
      return _recyclerRef.get() != null;
    }
  }

  @Test
  void aThreadKeepsNothingOfAnApplicationsJackson() throws Exception {
    AtomicBoolean kept = new AtomicBoolean(true);
    Thread fresh =
        new Thread(
            () -> {
              Json.of(Sku.class, Sku.class).write(new Sku("pike"));
              kept.set(BuffersOfThread.kept());
            });
    fresh.start();
    fresh.join(10_000);
    assertThat(kept).isFalse();
  }

  @Test
  void aClassOfTheJdkIsReadAsItsFunctionsApplicationReads() throws Exception {
    Class<?> own = skuIn(new Own(name -> false));
    assertThat(Json.of(String.class, own)).isSameAs(Json.of(own, Object.class));
  }

  @Test
  void nothingHoldsAnApplicationThatIsGone() throws Exception {
    var gone = new java.lang.ref.WeakReference<>(used());
    for (int i = 0; i < 20 && gone.get() != null; i++) {
      System.gc();
    }
    assertThat(gone.get()).isNull();
  }

  private static ClassLoader used() throws Exception {
    Own loader = new Own(name -> false);
    Class<?> sku = skuIn(loader);
    Json json = Json.of(sku, sku);
    Object value = json.read(Buffer.buffer("{\"name\":\"a\"}"), sku);
    assertThat(ValueShape.sharedBytes(value, json)).isPositive();
    assertThat(json.write(value).toString()).isEqualTo("{\"name\":\"a\"}");
    return loader;
  }
}
