package dev.berth.examples;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.TensorInfo;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A handler for any numeric ONNX model, with the JSON of the Open Inference Protocol. GET returns
 * its inputs and outputs; POST of {@code {"inputs": [tensor, …]}} returns {@code {"outputs":
 * [tensor, …]}}.
 */
final class InferenceHandler extends OnnxHandler implements BlockingHandler {

  InferenceHandler(OnnxModel model) {
    super(model);
  }

  @Override
  public Response handle(Request request, RequestContext context) throws OrtException {
    return switch (request.method()) {
      case "GET" ->
          json(
              new JsonObject()
                  .put("inputs", described(model().inputs()))
                  .put("outputs", described(model().outputs())));
      case "POST" -> answer(request);
      default -> BadInput.methodNotAllowed(request.method(), "GET, POST");
    };
  }

  private static JsonArray described(Map<String, TensorInfo> tensors) {
    JsonArray all = new JsonArray();
    tensors.forEach((name, info) -> all.add(Tensor.describe(name, info.type, info.getShape())));
    return all;
  }

  @Override
  Map<String, Tensor> read(Request request) throws BadInput {
    Object sent;
    try {
      sent = Json.decodeValue(request.bytes());
    } catch (DecodeException malformed) {
      throw new BadInput("body", request.bytes(), "JSON: {\"inputs\": [tensor, …]}");
    }
    Object inside = sent instanceof JsonObject body ? body.getValue("inputs") : sent;
    if (!(inside instanceof JsonArray given)) {
      throw new BadInput("inputs", inside, "a list of tensors: name, datatype, shape, data");
    }
    Map<String, Tensor> inputs = new LinkedHashMap<>();
    for (int index = 0; index < given.size(); index++) {
      String at = "inputs[" + index + "]";
      if (!(given.getValue(index) instanceof JsonObject tensor
          && tensor.getValue("name") instanceof String name)) {
        throw new BadInput(at, given.getValue(index), "a tensor with a name");
      }
      if (inputs.put(name, Tensor.fromJson(at, tensor)) != null) {
        throw new BadInput(at + ".name", name, "each name once");
      }
    }
    return inputs;
  }

  @Override
  Response write(Map<String, Tensor> outputs) {
    JsonArray all = new JsonArray();
    outputs.forEach((name, tensor) -> all.add(tensor.toJson(name)));
    return json(new JsonObject().put("outputs", all));
  }

  private static Response json(JsonObject body) {
    return Response.json(200, body.encode());
  }
}
