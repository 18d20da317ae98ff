package dev.berth.examples;

import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A numeric model in its own ONNX Runtime session. {@link #check} rejects input that does not fit
 * the model before any computation, with an error that a client can understand. Thread-safe, with
 * parallel runs. {@link #close} waits for them: closing native code during a run would crash the
 * process.
 */
final class OnnxModel implements AutoCloseable {
  private final OrtEnvironment environment;
  private final OrtSession session;
  private final Map<String, TensorInfo> inputs;
  private final Map<String, TensorInfo> outputs;
  private final ReadWriteLock running = new ReentrantReadWriteLock();

  private OnnxModel(OrtEnvironment environment, OrtSession session) throws OrtException {
    this.environment = environment;
    this.session = session;
    this.inputs = tensors(session.getInputInfo());
    this.outputs = tensors(session.getOutputInfo());
  }

  /**
   * Loads a model.
   *
   * @param threads threads per run, including the caller's. Scale with replicas: use 1 unless there
   *     are fewer concurrent requests than cores. Otherwise the threads of several runs compete for
   *     the cores
   */
  static OnnxModel load(byte[] model, int threads) throws OrtException {
    OrtEnvironment environment = OrtEnvironment.getEnvironment(); // one per process, never closed
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(threads);
      options.setInterOpNumThreads(1);
      options.addConfigEntry("session.intra_op.allow_spinning", "0"); // other work needs the cores
      OrtSession session = environment.createSession(model, options);
      try {
        return new OnnxModel(environment, session);
      } catch (RuntimeException | OrtException failed) {
        session.close();
        throw failed;
      }
    }
  }

  private static Map<String, TensorInfo> tensors(Map<String, NodeInfo> nodes) {
    Map<String, TensorInfo> tensors = new LinkedHashMap<>();
    nodes.forEach(
        (name, node) -> {
          if (!(node.getInfo() instanceof TensorInfo info)
              || !Tensor.TYPES.containsValue(info.type)) {
            throw new IllegalArgumentException(
                "model: %s is %s (expected: a tensor of %s)"
                    .formatted(name, node.getInfo(), Tensor.TYPES.keySet()));
          }
          tensors.put(name, info);
        });
    return Collections.unmodifiableMap(tensors);
  }

  /** Returns the inputs of the model, by name. Extent -1 accepts any size. */
  Map<String, TensorInfo> inputs() {
    return inputs;
  }

  /** Returns the outputs of the model, by name. */
  Map<String, TensorInfo> outputs() {
    return outputs;
  }

  /** Rejects inputs whose names, types or shapes do not fit the model. */
  void check(Map<String, Tensor> given) throws BadInput {
    if (!given.keySet().equals(inputs.keySet())) {
      throw new BadInput("inputs", given.keySet(), String.join(", ", kinds()));
    }
    Map<String, Long> open = new HashMap<>(); // extents of the same name must be equal
    for (Map.Entry<String, TensorInfo> each : inputs.entrySet()) {
      Tensor tensor = given.get(each.getKey());
      TensorInfo wanted = each.getValue();
      if (tensor.type() != wanted.type || !fits(tensor.shape(), wanted, open)) {
        String where = open.isEmpty() ? "" : " where " + open;
        throw new BadInput(each.getKey(), tensor.kind(), kind(wanted) + where);
      }
    }
  }

  private static boolean fits(long[] shape, TensorInfo wanted, Map<String, Long> open) {
    long[] extents = wanted.getShape();
    boolean fits = shape.length == extents.length;
    for (int axis = 0; fits && axis < extents.length; axis++) {
      String name = wanted.getDimensionNames()[axis];
      Long known = extents[axis] >= 0 ? Long.valueOf(extents[axis]) : open.get(name);
      fits = known == null ? shape[axis] > 0 : shape[axis] == known;
      if (known == null && fits && !name.isEmpty()) {
        open.put(name, shape[axis]);
      }
    }
    return fits;
  }

  private List<String> kinds() {
    return inputs.entrySet().stream()
        .map(each -> each.getKey() + ": " + kind(each.getValue()))
        .toList();
  }

  private static String kind(TensorInfo info) {
    List<String> extents = new ArrayList<>();
    for (int axis = 0; axis < info.getShape().length; axis++) {
      String name = info.getDimensionNames()[axis];
      long extent = info.getShape()[axis];
      extents.add(extent >= 0 ? Long.toString(extent) : name.isEmpty() ? "any" : name);
    }
    return Tensor.kind(info.type, extents);
  }

  /**
   * Runs the model once on zeros, so that no request pays for the initialisation of the first run.
   */
  void warmUp() throws OrtException {
    Map<String, Tensor> nothing = new HashMap<>();
    inputs.forEach(
        (name, info) -> {
          long[] shape = info.getShape();
          for (int axis = 0; axis < shape.length; axis++) {
            shape[axis] = Math.max(1, shape[axis]);
          }
          nothing.put(name, Tensor.zeros(info.type, shape));
        });
    run(nothing);
  }

  /**
   * Runs the model.
   *
   * @param given inputs that passed {@link #check}
   */
  Map<String, Tensor> run(Map<String, Tensor> given) throws OrtException {
    Map<String, OnnxTensor> lent = new HashMap<>();
    running.readLock().lock();
    try {
      for (Map.Entry<String, Tensor> each : given.entrySet()) {
        Tensor tensor = each.getValue();
        lent.put(
            each.getKey(),
            OnnxTensor.createTensor(environment, tensor.direct(), tensor.shape(), tensor.type()));
      }
      try (OrtSession.Result result = session.run(lent)) {
        Map<String, Tensor> answer = new LinkedHashMap<>();
        for (Map.Entry<String, OnnxValue> each : result) {
          OnnxTensor tensor = (OnnxTensor) each.getValue();
          TensorInfo info = tensor.getInfo();
          answer.put(each.getKey(), new Tensor(info.type, info.getShape(), tensor.getByteBuffer()));
        }
        return answer;
      }
    } finally {
      running.readLock().unlock();
      lent.values().forEach(OnnxTensor::close);
    }
  }

  /**
   * Runs several requests. They share one run if the first axes of all inputs and outputs are open
   * and the requests differ only in their rows.
   *
   * @param requests inputs that passed {@link #check}
   * @return outputs in the order of the requests
   */
  List<Map<String, Tensor>> runAll(List<Map<String, Tensor>> requests) throws OrtException {
    if (!fitTogether(requests)) {
      return runEach(requests);
    }
    Map<String, Tensor> all = new HashMap<>();
    for (String name : inputs.keySet()) {
      all.put(name, Tensor.stack(requests.stream().map(each -> each.get(name)).toList()));
    }
    Map<String, Tensor> together = run(all);
    long rowsOfAll = rowsOf(all);
    if (together.values().stream().anyMatch(output -> output.shape()[0] != rowsOfAll)) {
      return runEach(requests); // its outputs depend on all rows together
    }
    List<Map<String, Tensor>> answers = new ArrayList<>();
    long from = 0;
    for (Map<String, Tensor> each : requests) {
      long first = from;
      long rows = rowsOf(each);
      Map<String, Tensor> own = new LinkedHashMap<>();
      together.forEach((name, tensor) -> own.put(name, tensor.rows(first, rows)));
      answers.add(own);
      from += rows;
    }
    return answers;
  }

  private List<Map<String, Tensor>> runEach(List<Map<String, Tensor>> requests)
      throws OrtException {
    List<Map<String, Tensor>> answers = new ArrayList<>();
    for (Map<String, Tensor> each : requests) {
      answers.add(run(each));
    }
    return answers;
  }

  private boolean fitTogether(List<Map<String, Tensor>> requests) {
    return requests.size() > 1
        && !inputs.isEmpty()
        && inputs.values().stream().allMatch(OnnxModel::hasOpenRows)
        && outputs.values().stream().allMatch(OnnxModel::hasOpenRows)
        && requests.stream()
            .allMatch(
                each ->
                    each.entrySet().stream()
                        .allMatch(
                            input ->
                                input.getValue().shape()[0] == rowsOf(each)
                                    && input
                                        .getValue()
                                        .isLikeButForRows(requests.get(0).get(input.getKey()))));
  }

  private static boolean hasOpenRows(TensorInfo info) {
    return info.getShape().length > 0 && info.getShape()[0] < 0;
  }

  private static long rowsOf(Map<String, Tensor> request) {
    return request.values().iterator().next().shape()[0];
  }

  /** Closes the session after the last run; an interrupt during the wait leaves it open. */
  @Override
  public void close() throws OrtException {
    try {
      running.writeLock().lockInterruptibly();
    } catch (InterruptedException givenUp) {
      Thread.currentThread().interrupt();
      return;
    }
    try {
      session.close();
    } finally {
      running.writeLock().unlock();
    }
  }
}
