import dev.berth.api.Application;
import dev.berth.api.Response;
import dev.berth.web.DefaultValue;
import dev.berth.web.HeaderName;
import dev.berth.web.TypedResponse;
import dev.berth.web.WebDeployment;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Size;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** An application whose types use most of the document, for a generated client. */
public final class ItApplication {
  public enum Color {
    RED,
    GREEN
  }

  public record Part(@NotBlank String name, @Min(1) @Max(9) int count) {}

  public record Thing(
      UUID id,
      @Size(min = 2, max = 20) String name,
      Color color,
      List<@Valid Part> parts,
      Map<String, Long> sizes,
      LocalDate day,
      Instant at,
      double weight) {}

  public record ThingId(UUID id) {}

  public record Search(
      @DefaultValue("10") @Max(50) int limit,
      Optional<Color> color,
      List<String> name,
      @HeaderName("x-tenant") String tenant) {}

  public record Found(String tenant, List<Thing> things, int limit) {}

  public static Application build() {
    return Application.of(
        WebDeployment.blockingRoutes(
            "things",
            (routes, replica) -> {
              Map<UUID, Thing> things = new ConcurrentHashMap<>();
              routes.describe("Things", "1.0");
              routes
                  .put(
                      "/things/{id}",
                      ThingId.class,
                      Thing.class,
                      Thing.class,
                      (request, context) -> {
                        Thing thing = request.body();
                        boolean added = things.put(request.parameters().id(), thing) == null;
                        return TypedResponse.of(added ? 201 : 200, thing);
                      })
                  .status(201)
                  .operationId("putThing")
                  .responds(200, "Replaced");
              routes
                  .get(
                      "/things/{id}",
                      ThingId.class,
                      Thing.class,
                      (request, context) -> {
                        Thing thing = things.get(request.parameters().id());
                        return thing == null ? TypedResponse.of(404, null) : thing;
                      })
                  .operationId("getThing")
                  .responds(404, "Unknown");
              routes
                  .get(
                      "/things",
                      Search.class,
                      Found.class,
                      (request, context) -> {
                        Search search = request.parameters();
                        List<Thing> found =
                            things.values().stream()
                                .filter(
                                    each -> search.color().map(each.color()::equals).orElse(true))
                                .filter(
                                    each ->
                                        search.name().isEmpty()
                                            || search.name().contains(each.name()))
                                .toList();
                        return new Found(search.tenant(), found, search.limit());
                      })
                  .operationId("findThings");
              routes
                  .delete(
                      "/things/{id}",
                      ThingId.class,
                      Void.class,
                      (request, context) -> {
                        things.remove(request.parameters().id());
                        return null;
                      })
                  .operationId("removeThing");
              routes
                  .get(
                      "/text/{name}",
                      String.class,
                      (request, context) -> request.pathParameters().get("name"))
                  .operationId("echoText");
              routes
                  .get(
                      "/raw",
                      Response.class,
                      (request, context) -> Response.output("text/csv", out -> out.write('1')))
                  .produces("text/csv")
                  .operationId("getRaw");
            }));
  }
}
