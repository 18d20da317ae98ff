package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Response;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.openapi.contract.OpenAPIContract;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Documents of routes; vertx-openapi validates them against the schema of OpenAPI 3.1. */
class OpenApiDocumentTest {
  record Tree(String name, List<Tree> children, Map<String, Leaf> leaves, Optional<Leaf> first) {}

  record Leaf(Instant at, double[] sizes, @Nullable Size size, Object any, byte[] bytes) {
    enum Size {
      SMALL,
      LARGE
    }
  }

  static final class Other {
    record Leaf(boolean own) {}
  }

  record Page(@DefaultValue("1") int page, Optional<Leaf.Size> size, List<Long> ids, String id) {}

  private static JsonObject document() {
    TypedRoutes routes = new TypedRoutes(OpenApiDocumentTest.class, "trees");
    routes.get("/trees/{id}", Page.class, Tree.class, (request, context) -> null).summary("One");
    routes.get("/trees", Tree[].class, (request, context) -> null);
    routes
        .post("/trees/{id}/leaves/{n}", Other.Leaf.class, Void.class, (request, context) -> null)
        .responds(409, "full");
    routes.get("/text", String.class, (request, context) -> null).operationId("same");
    routes.get("/raw", Response.class, (request, context) -> null).operationId("same");
    return OpenApiDocument.of(routes);
  }

  @Test
  void documentFitsTheSchemaOfOpenApi() throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      JsonObject document =
          document()
              .put(
                  "servers", new JsonArray().add(new JsonObject().put("url", "http://localhost/")));
      OpenAPIContract contract =
          OpenAPIContract.from(vertx, new JsonObject(document.encode()))
              .toCompletionStage()
              .toCompletableFuture()
              .get(30, TimeUnit.SECONDS);
      assertThat(contract.operations()).hasSize(5);
      assertThat(contract.operation("getTreesById").getParameters()).hasSize(4);
    } finally {
      vertx.close();
    }
  }

  @Test
  void recordsBecomeSchemasByName() {
    JsonObject schemas =
        new JsonObject(document().encode()).getJsonObject("components").getJsonObject("schemas");
    assertThat(schemas.fieldNames()).containsExactly("Tree", "Leaf", "Leaf_", "InvalidRequest");
    assertThat(schemas.getJsonObject("Tree"))
        .isEqualTo(
            new JsonObject(
                """
                {"type": "object", "required": ["name", "children", "leaves"], "properties": {
                  "name": {"type": "string"},
                  "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
                  "leaves": {"type": "object",
                    "additionalProperties": {"$ref": "#/components/schemas/Leaf"}},
                  "first": {"anyOf": [{"$ref": "#/components/schemas/Leaf"}, {"type": "null"}]}}}
                """));
    assertThat(schemas.getJsonObject("Leaf").getJsonObject("properties"))
        .isEqualTo(
            new JsonObject(
                """
                {"at": {"type": "string", "format": "date-time"},
                 "sizes": {"type": "array", "items": {"type": "number", "format": "double"}},
                 "size": {"anyOf": [{"type": "string", "enum": ["SMALL", "LARGE"]}, {"type": "null"}]},
                 "any": {}, "bytes": {}}
                """));
  }

  @Test
  void operationHasItsParametersAndResponses() {
    JsonObject paths = new JsonObject(document().encode()).getJsonObject("paths");
    JsonObject one = paths.getJsonObject("/trees/{id}").getJsonObject("get");
    assertThat(one.getString("operationId")).isEqualTo("getTreesById");
    assertThat(one.getString("summary")).isEqualTo("One");
    assertThat(one.getJsonArray("parameters"))
        .isEqualTo(
            new JsonArray(
                """
                [{"in": "query", "name": "page", "required": false,
                   "schema": {"type": "integer", "format": "int32", "default": 1}},
                 {"in": "query", "name": "size", "required": false,
                   "schema": {"type": "string", "enum": ["SMALL", "LARGE"]}},
                 {"in": "query", "name": "ids", "required": false,
                   "schema": {"type": "array", "items": {"type": "integer", "format": "int64"}}},
                 {"in": "path", "name": "id", "required": true, "schema": {"type": "string"}}]
                """));
    JsonObject leaves = paths.getJsonObject("/trees/{id}/leaves/{n}").getJsonObject("post");
    assertThat(leaves.getJsonObject("responses").fieldNames()).containsExactly("204", "409", "400");
    assertThat(leaves.getJsonArray("parameters").encode()).contains("\"id\"", "\"n\"");
    assertThat(paths.getJsonObject("/raw").getJsonObject("get").getString("operationId"))
        .isEqualTo("same_");
  }
}
