package dev.berth.examples;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.web.DefaultValue;
import dev.berth.web.TypedResponse;
import dev.berth.web.TypedRoutes;
import dev.berth.web.WebDeployment;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code dev.berth.examples.Shop:build}: six typed routes with their OpenAPI document, and a model
 * as a second deployment.
 */
public final class Shop {
  /** An item in stock. */
  public record Item(long id, String name, int cents) {}

  /** An item to add; its constructor validates it. */
  public record NewItem(String name, int cents) {
    public NewItem {
      if (cents < 1) {
        throw new IllegalArgumentException("cents: " + cents + " (expected: >= 1)");
      }
    }
  }

  /** Parameters of the list: a page and a part of the name. */
  public record Search(@DefaultValue("1") int page, Optional<String> name) {}

  /** Parameters of one item. */
  public record ItemId(long id) {}

  /** Parameters of a price. */
  public record Quantity(long id, @DefaultValue("1") int count) {}

  /** Input of the model. */
  public record Order(Item item, int count) {}

  /** Result of the model. */
  public record Price(long cents) {}

  private static final TypedResponse MISSING = TypedResponse.of(404, "no such item");

  private final Map<Long, Item> items = new ConcurrentSkipListMap<>();
  private final AtomicLong ids = new AtomicLong();

  private Shop() {
    List.of("bread", "fish", "salt").forEach(name -> add(new NewItem(name, 250)));
  }

  /** Builds the application. */
  public static Application build() {
    return Application.of(
        WebDeployment.routes("shop", (routes, replica) -> new Shop().declare(routes))
            .withMaxOngoingRequests(100),
        Deployment.blocking(
            "model",
            Order.class,
            (order, context) -> new Price((long) order.item().cents() * order.count())));
  }

  private void declare(TypedRoutes routes) {
    routes.get(
        "/items", Search.class, Item[].class, (request, context) -> list(request.parameters()));
    routes
        .get(
            "/items/{id}",
            ItemId.class,
            Item.class,
            (request, context) -> find(request.parameters().id()))
        .responds(404, "No such item");
    routes
        .post("/items", NewItem.class, Item.class, (request, context) -> add(request.body()))
        .status(201);
    routes.delete(
        "/items/{id}",
        ItemId.class,
        Void.class,
        (request, context) -> items.remove(request.parameters().id()) == null ? MISSING : null);
    routes.get(
        "/items/{id}/price",
        Quantity.class,
        Price.class,
        (request, context) ->
            find(request.parameters().id()) instanceof Item item
                ? context
                    .handle("model")
                    .typed(Order.class, Price.class)
                    .call(new Order(item, request.parameters().count()))
                : MISSING);
    routes
        .get(
            "/events",
            Response.class,
            (request, context) ->
                Response.stream("text/event-stream", writer -> sendAll(writer, context)))
        .produces("text/event-stream");
  }

  private List<Item> list(Search search) {
    return items.values().stream()
        .filter(item -> item.name().contains(search.name().orElse("")))
        .skip((search.page() - 1L) * 10)
        .limit(10)
        .toList();
  }

  private Object find(long id) {
    return Optional.<Object>ofNullable(items.get(id)).orElse(MISSING);
  }

  private Item add(NewItem added) {
    return items.computeIfAbsent(
        ids.incrementAndGet(), id -> new Item(id, added.name(), added.cents()));
  }

  /** Sends each item as an event, 100 ms apart. */
  private Future<Void> sendAll(ResponseWriter writer, RequestContext context) {
    Future<Void> sent = Future.succeededFuture();
    for (Item item : items.values()) {
      sent =
          sent.compose(done -> writer.write("data: " + item.name() + "\n\n"))
              .compose(done -> context.after(Duration.ofMillis(100)));
    }
    return sent;
  }
}
