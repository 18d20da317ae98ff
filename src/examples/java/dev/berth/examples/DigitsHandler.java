package dev.berth.examples;

import ai.onnxruntime.OrtException;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.Request;
import dev.berth.api.Response;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Recognises digits with one model per replica, a batch of pictures in one run. It accepts a PNG,
 * which it decodes here, where it may block, or {@link Pixels#MEDIA_TYPE}.
 */
final class DigitsHandler extends OnnxHandler implements BatchHandler {
  /** Header with the id of the replica that recognised the digit. */
  static final String REPLICA_HEADER = "X-Berth-Replica";

  private static final String RESOURCE = "digits.onnx"; // written by training/train_digits.py

  private final String replica;

  private DigitsHandler(OnnxModel model, String replica) {
    super(model);
    this.replica = replica;
  }

  /**
   * Returns a handler with a model of its own.
   *
   * @param replica named in each response
   */
  static DigitsHandler load(String replica) throws IOException, OrtException {
    return new DigitsHandler(OnnxModel.load(digits(), 1), replica);
  }

  /** Returns the bytes of the model, a resource beside this class in its jar. */
  static byte[] digits() throws IOException {
    try (InputStream in =
        Objects.requireNonNull(DigitsHandler.class.getResourceAsStream(RESOURCE), RESOURCE)) {
      return in.readAllBytes();
    }
  }

  @Override
  public List<BatchResult> handle(List<BatchItem> items) throws OrtException {
    return answerAll(items.stream().map(BatchItem::request).toList()).stream()
        .map(BatchResult::of)
        .toList();
  }

  @Override
  Map<String, Tensor> read(Request request) throws BadInput {
    String contentType = request.headers().get("content-type");
    Pixels pixels =
        switch (BadInput.mediaType(contentType)) {
          case "image/png" -> PngPixels.decode(request.bytes().getBytes());
          case Pixels.MEDIA_TYPE -> Pixels.fromBuffer(request.bytes());
          default ->
              throw BadInput.unsupportedContentType(
                  contentType, "image/png or " + Pixels.MEDIA_TYPE);
        };
    return Map.of("pixels", Tensor.of(pixels.values(), 1, Pixels.COUNT));
  }

  @Override
  Response write(Map<String, Tensor> outputs) {
    float[] probabilities = outputs.get("probabilities").floats();
    return Response.json(200, Classification.of(probabilities).toJson())
        .withHeader(REPLICA_HEADER, replica);
  }
}
