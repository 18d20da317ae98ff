package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An ONNX model of one's own, behind the Open Inference Protocol. */
class InferenceHandlerTest {
  private static TestBerth berth;

  @BeforeAll
  static void start(@TempDir Path folder) throws Exception {
    Path model = Files.write(folder.resolve("weigh.onnx"), OnnxModelTest.weigh());
    berth = TestBerth.start(Examples.infer(Map.of("model", model.toString(), "threads", 2)));
  }

  @AfterAll
  static void stop() {
    berth.assertAtRest();
    berth.close();
  }

  private static Response post(String body) {
    return berth.call(Request.post("/", Buffer.buffer(body.replace('\'', '"'))));
  }

  private static JsonObject json(Response response) {
    return berth.bytes(response).toJsonObject();
  }

  @Test
  void aModelSaysWhatItTakesAndGives() {
    assertThat(json(berth.call(Request.get("/"))))
        .isEqualTo(
            new JsonObject(
                """
                {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]},
                            {"name": "weight", "datatype": "INT64", "shape": [-1]}],
                 "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 3]}]}"""));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "[1, 2, 3, 4, 5, 6]",
        "[[1, 2, 3], [4.0, 5, 6e0]]",
      })
  void dataMayBeFlatOrNested(String data) {
    Response answer =
        post(
            ("{'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [2, 3], 'data': %s},"
                    + "{'name': 'weight', 'datatype': 'INT64', 'shape': [2], 'data': [2, 3]}]}")
                .formatted(data));
    assertThat(answer.status()).isEqualTo(200);
    assertThat(json(answer).encode())
        .isEqualTo(
            "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,3],"
                + "\"data\":[2.0,4.0,6.0,12.0,15.0,18.0]}]}");
  }

  /** What is wrong and what was expected, whatever a client sends. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "no; body; JSON",
        "5; inputs; a list of tensors",
        "{}; inputs; a list of tensors",
        "{'inputs': {}}; inputs; a list of tensors",
        "{'inputs': []}; inputs; x: FP32[N, 3], weight: INT64[N]",
        "{'inputs': [1]}; inputs[0]; a tensor with a name",
        "{'inputs': [{'name': 'x'}]}; inputs[0].datatype; one of BOOL, FP32, FP64, INT16",
        "{'inputs': [{'name': 'x', 'datatype': 'BYTES'}]}; inputs[0].datatype; FP32",
        "{'inputs': [{'name': 'x', 'datatype': 'FP32'}]}; inputs[0].shape; a list",
        "{'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [0], 'data': []}]};"
            + " inputs[0].shape[0]; an integer above 0",
        "{'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [99999, 99999, 99999],"
            + " 'data': []}]}; inputs[0].data; 2147483647, as its shape says",
        "{'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [2], 'data': [1]}]};"
            + " inputs[0].data; 2, as its shape says",
        "{'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [1], 'data': ['1']}]};"
            + " inputs[0].data[0]; FP32",
        "{'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [1], 'data': [1e99]}]};"
            + " inputs[0].data[0]; FP32",
        "{'inputs': [{'name': 'x', 'datatype': 'FP32', 'shape': [1], 'data': [null]}]};"
            + " inputs[0].data[0]; FP32",
        "{'inputs': [{'name': 'x', 'datatype': 'INT64', 'shape': [1], 'data': [1.5]}]};"
            + " inputs[0].data[0]; INT64",
        "{'inputs': [{'name': 'x', 'datatype': 'INT64', 'shape': [1],"
            + " 'data': [99999999999999999999]}]}; inputs[0].data[0]; INT64",
        "{'inputs': [{'name': 'x', 'datatype': 'UINT8', 'shape': [1], 'data': [256]}]};"
            + " inputs[0].data[0]; UINT8",
        "{'inputs': [{'name': 'x', 'datatype': 'INT8', 'shape': [1], 'data': [-129]}]};"
            + " inputs[0].data[0]; INT8",
        "{'inputs': [{'name': 'x', 'datatype': 'BOOL', 'shape': [1], 'data': [1]}]};"
            + " inputs[0].data[0]; BOOL",
        "{'inputs': [{'name': 'x', 'datatype': 'BOOL', 'shape': [1], 'data': [true]}]};"
            + " inputs; x: FP32[N, 3], weight: INT64[N]",
      })
  void whatAModelDoesNotTakeIsA400ThatNamesWhatItTakes(String body, String field, String expected) {
    Response answer = post(body);
    assertThat(answer.status()).isEqualTo(400);
    JsonObject told = json(answer);
    assertThat(told.getString("field")).isEqualTo(field);
    assertThat(told.getString("expected")).contains(expected);
  }

  @Test
  void otherMethodsAreRefused() {
    Response answer =
        berth.call(Request.of("PUT", "/", null, Request.get("/").headers(), Buffer.buffer()));
    assertThat(answer.status()).isEqualTo(405);
    assertThat(answer.headers().get("allow")).isEqualTo("GET, POST");
  }
}
