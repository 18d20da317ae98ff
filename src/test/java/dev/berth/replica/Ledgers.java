package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.port.LedgerView;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Ledgers for tests, what must be true of one, and the two fields that a test may bend. */
final class Ledgers {
  private Ledgers() {}

  static SlotLedger ledger(int max, LongSupplier clock) {
    return ledger(max, LedgerLimits.DEFAULTS, clock);
  }

  /** The tokens' secrets come from the system's random bits: no test may depend on them. */
  static SlotLedger ledger(int max, LedgerLimits limits, LongSupplier clock) {
    SplittableRandom secrets = new SplittableRandom();
    LongSupplier drawn =
        () -> {
          synchronized (secrets) {
            return secrets.nextLong();
          }
        };
    return new SlotLedger(1, max, limits, clock, drawn);
  }

  /** Everything granted has ended, each in one way, and the audit agrees. At rest only. */
  static void assertAtRest(SlotLedger ledger) {
    assertBalanced(ledger);
    assertThat(ledger.ongoing()).as("ongoing at rest").isZero();
  }

  /** {@code granted = completed + released + expired + ongoing}. While nothing moves. */
  static void assertBalanced(SlotLedger ledger) {
    ledger.audit();
    LedgerView view = ledger.view("r", 0);
    assertThat(view.granted())
        .as("granted = completed + released + expired + ongoing of %s", view)
        .isEqualTo(
            view.completed() + view.released() + view.expired() + view.running() + view.reserved());
    assertThat(view.audit()).as("audit of %s", view).isEqualTo(LedgerView.Audit.CLEAN);
  }

  /** The packed word: changes of it are counted in its upper 31 bits. */
  static AtomicLong word(SlotLedger ledger) {
    return (AtomicLong) read(ledger, "word");
  }

  /** How often the word has changed since the ledger was made. */
  static long stamp(SlotLedger ledger) {
    return word(ledger).get() >>> 33;
  }

  static LongAdder counter(SlotLedger ledger, String name) {
    return (LongAdder) read(ledger, name);
  }

  private static Object read(SlotLedger ledger, String field) {
    try {
      var declared = SlotLedger.class.getDeclaredField(field);
      declared.setAccessible(true);
      return declared.get(ledger);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError("SlotLedger." + field + " (expected: a field a test may read)", e);
    }
  }
}
