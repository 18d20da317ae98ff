package dev.berth.admin;

import io.vertx.core.json.JsonObject;
import io.vertx.json.schema.Draft;
import io.vertx.json.schema.JsonSchema;
import io.vertx.json.schema.JsonSchemaOptions;
import io.vertx.json.schema.OutputFormat;
import io.vertx.json.schema.OutputUnit;
import io.vertx.json.schema.Validator;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** What Ray Serve's own models accept, as {@code src/it/ray-cli/models.py} read it out of them. */
final class RayModels {
  static final JsonObject ALL = new JsonObject(resource("models.json"));

  private RayModels() {}

  /** What keeps a value from being one of that model; empty when nothing does. */
  static String problems(String model, JsonObject value) {
    OutputUnit result =
        Validator.create(
                JsonSchema.of(ALL.getJsonObject("models").getJsonObject(model).copy()),
                new JsonSchemaOptions()
                    .setBaseUri("https://berth.invalid/")
                    .setDraft(Draft.DRAFT202012)
                    .setOutputFormat(OutputFormat.Basic))
            .validate(new JsonObject(value.encode()));
    return result.getValid() ? "" : result.toJson().encodePrettily();
  }

  static String resource(String name) {
    try (InputStream in = RayModels.class.getResourceAsStream("/ray-cli/" + name)) {
      if (in == null) {
        throw new IOException("/ray-cli/" + name + ": missing (expected: a test resource)");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }
}
