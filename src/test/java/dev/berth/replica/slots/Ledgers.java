package dev.berth.replica.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.protocol.port.Slots.ReserveResult;
import dev.berth.view.LedgerView;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

/** Ledgers for tests, what must be true of one, and the two fields that a test may bend. */
public final class Ledgers {
  private Ledgers() {}

  public static SlotLedger ledger(int max, LongSupplier clock) {
    return ledger(max, LedgerLimits.DEFAULTS, clock);
  }

  /** The tokens' secrets come from the system's random bits: no test may depend on them. */
  public static SlotLedger ledger(int max, LedgerLimits limits, LongSupplier clock) {
    SplittableRandom secrets = new SplittableRandom();
    LongSupplier drawn =
        () -> {
          synchronized (secrets) {
            return secrets.nextLong();
          }
        };
    return new SlotLedger(1, max, limits, clock, drawn);
  }

  /** Of a certain replica. */
  public static SlotLedger ledger(long epoch, int max, LongSupplier clock, LongSupplier secrets) {
    return new SlotLedger(epoch, max, LedgerLimits.DEFAULTS, clock, secrets);
  }

  /** Whether its free slots are for the offer to a remote router. */
  public static boolean isSetAsideForRemote(SlotLedger ledger) {
    return ledger.isKeptForRemote();
  }

  static SlotLease granted(ReserveResult reservation) {
    assertThat(reservation).isInstanceOf(ReserveResult.ReserveGranted.class);
    return ((ReserveResult.ReserveGranted) reservation).lease();
  }

  /** Notes how many slots were in use each time it was told of a free one. */
  static final class Freed implements SlotObserver {
    final List<Integer> ongoingWhenTold = Collections.synchronizedList(new ArrayList<>());

    @Override
    public boolean completing(Slots slots, int done) {
      return false;
    }

    @Override
    public void onSlotFreed(Slots slots) {
      ongoingWhenTold.add(slots.ongoing());
    }
  }

  /** Everything granted has ended, each in one way, and the audit agrees. At rest only. */
  public static void assertAtRest(SlotLedger ledger) {
    assertBalanced(ledger);
    assertThat(ledger.ongoing()).as("ongoing at rest").isZero();
  }

  /** {@code granted = completed + released + expired + ongoing}. While nothing moves. */
  public static void assertBalanced(SlotLedger ledger) {
    ledger.audit();
    LedgerView view = ledger.view("r", 0);
    assertThat(view.granted())
        .as("granted = completed + released + expired + ongoing of %s", view)
        .isEqualTo(
            view.completed() + view.released() + view.expired() + view.running() + view.reserved());
    assertThat(view.audit()).as("audit of %s", view).isEqualTo(LedgerView.Audit.CLEAN);
  }

  /** Bends the packed word: changes of it are counted in its upper 30 bits. */
  public static void bendWord(SlotLedger ledger, LongUnaryOperator change) {
    assertThat(ledger.changeWord(ledger.word(), change.applyAsLong(ledger.word()))).isTrue();
  }

  /** How often the word has changed since the ledger was made. */
  public static long stamp(SlotLedger ledger) {
    return ledger.word() >>> 34;
  }

  /** Makes a counter wrong by so many. */
  public static void bendCounter(SlotLedger ledger, String name, int by) {
    AtomicLongFieldUpdater<SlotCounters> counter =
        AtomicLongFieldUpdater.newUpdater(SlotCounters.class, name);
    counter.addAndGet(ledger, by);
  }

  /** Counts an attempt as forgotten because the table was full. */
  public static void forgetEarly(SlotLedger ledger) {
    ledger.memory.forgottenEarly.increment();
  }
}
