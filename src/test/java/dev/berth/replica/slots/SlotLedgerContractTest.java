package dev.berth.replica.slots;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.protocol.port.SlotsContract;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;

/** The ledger keeps the contract of its port. */
class SlotLedgerContractTest extends SlotsContract {
  private final List<SlotLedger> made = new ArrayList<>();

  @AfterEach
  void whatWasGrantedHasEndedOrIsOngoing() {
    made.forEach(Ledgers::assertBalanced);
  }

  @Override
  protected Owned fresh(int maxOngoing, ManualClock clock) {
    SplittableRandom secrets = new SplittableRandom(3);
    SlotLedger ledger =
        new SlotLedger(11, maxOngoing, LedgerLimits.DEFAULTS, clock, secrets::nextLong);
    made.add(ledger);
    return new Owned() {
      @Override
      public Slots slots() {
        return ledger;
      }

      @Override
      public void observe(SlotObserver observer) {
        ledger.observe(observer);
      }

      @Override
      public void drain(long deadlineNanos) {
        ledger.drain(deadlineNanos);
      }

      @Override
      public void setMaxOngoing(int max) {
        ledger.setMaxOngoing(max);
      }

      @Override
      public void sweep() {
        ledger.sweep();
      }
    };
  }
}
