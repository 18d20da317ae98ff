package dev.berth.simulation;

import dev.berth.desired.CommitOutcomeUnknownException;
import dev.berth.desired.DesiredChange;
import dev.berth.desired.DesiredState;
import dev.berth.desired.NodeRegistry;
import dev.berth.desired.StateLog;
import dev.berth.desired.StateStoreRecords;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What control nodes agreed on: outlives their processes, of which one proposes. Each change
 * crosses the form in which it is kept.
 */
final class AgreedLog {
  private final World world;
  private final SplittableRandom random;
  private final BooleanSupplier rough;
  private final BiConsumer<NodeRegistry, NodeRegistry> told;
  private DesiredState state;
  private int holder; // the process that has it

  /**
   * @param journal that its directory had before: the first entry has it whole
   * @param rough whether a proposal may fail
   * @param told of who belonged to the cluster, and does now
   */
  AgreedLog(
      World world,
      String clusterId,
      DesiredState journal,
      BooleanSupplier rough,
      BiConsumer<NodeRegistry, NodeRegistry> told) {
    this.world = world;
    this.random = world.randomness();
    this.rough = rough;
    this.told = told;
    String origin = journal == DesiredState.EMPTY ? "" : "a journal";
    DesiredChange born =
        Objects.requireNonNull(journal.nodes(NodeRegistry.born(clusterId, origin)));
    state = DesiredState.EMPTY.with(List.of(kept(journal.with(List.of(born)).whole())));
  }

  DesiredState state() {
    return state;
  }

  private static DesiredChange kept(DesiredChange change) {
    try {
      return StateStoreRecords.change(StateStoreRecords.file(change));
    } catch (IOException unread) {
      throw new UncheckedIOException(unread);
    }
  }

  private void commit(DesiredChange change) {
    NodeRegistry before = state.nodes();
    state = state.with(List.of(kept(change)));
    told.accept(before, state.nodes());
  }

  /** For another process: what the one before proposes comes true no more. */
  StateLog taken() {
    int own = ++holder;
    return new StateLog() {
      private int proposals;

      @Override
      public void open() {}

      @Override
      public DesiredState state() {
        return state;
      }

      @Override
      public boolean isKept() {
        return true;
      }

      @Override
      public boolean isFull() {
        return false;
      }

      @Override
      public @Nullable Path directory() {
        return null;
      }

      @Override
      public void prepare() {}

      /** Of ten one is not known to have come true, and of three such one has, or comes to. */
      @Override
      public @Nullable DesiredState propose(DesiredChange change) throws IOException {
        if (own != holder) {
          throw new IOException("another process has the log");
        }
        if (change.index() != state.index() + 1) {
          return null;
        }
        boolean first = proposals++ == 0; // the term, without which nothing starts
        if (!first && rough.getAsBoolean() && random.nextInt(10) == 0) {
          switch (random.nextInt(3)) {
            case 0 -> commit(change);
            case 1 ->
                world.after(
                    random.nextLong(300_000_000),
                    "committed late",
                    () -> {
                      if (own == holder && change.index() == state.index() + 1) {
                        commit(change);
                      }
                    });
            default -> {}
          }
          throw new CommitOutcomeUnknownException("as drawn");
        }
        commit(change);
        return state;
      }

      @Override
      public @Nullable DesiredState note(String what, DesiredChange change) {
        try {
          return propose(change);
        } catch (IOException notKept) {
          return null;
        }
      }

      @Override
      public void close() {}
    };
  }
}
