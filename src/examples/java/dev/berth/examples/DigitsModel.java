package dev.berth.examples;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.IOException;
import java.io.InputStream;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.Set;

/**
 * The digits classifier in an ONNX Runtime session of its own, on the caller's thread. {@link
 * #classify} may be called from several threads at once, but not beside or after {@link #close}.
 */
final class DigitsModel implements AutoCloseable {
  private static final String RESOURCE = "digits.onnx"; // written by training/train_digits.py
  private static final long[] INPUT_SHAPE = {1, Pixels.COUNT};

  private final OrtEnvironment environment;
  private final OrtSession session;

  private DigitsModel(OrtEnvironment environment, OrtSession session) {
    this.environment = environment;
    this.session = session;
  }

  static DigitsModel load() throws IOException, OrtException {
    byte[] model;
    try (InputStream in = DigitsModel.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IOException(RESOURCE + ": absent (expected: beside DigitsModel in its jar)");
      }
      model = in.readAllBytes();
    }
    OrtEnvironment environment = OrtEnvironment.getEnvironment(); // one per process, never closed
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      // Replicas are how this scales: a pool of threads inside each would fight over the cores.
      options.setIntraOpNumThreads(1);
      options.setInterOpNumThreads(1);
      return new DigitsModel(environment, environment.createSession(model, options));
    }
  }

  /** The probability of each digit, ten floats that add up to 1. */
  float[] classify(Pixels pixels) throws OrtException {
    try (OnnxTensor input =
            OnnxTensor.createTensor(environment, FloatBuffer.wrap(pixels.values()), INPUT_SHAPE);
        OrtSession.Result result = session.run(Map.of("pixels", input), Set.of("probabilities"))) {
      return ((float[][]) result.get(0).getValue())[0];
    }
  }

  @Override
  public void close() throws OrtException {
    session.close();
  }
}
