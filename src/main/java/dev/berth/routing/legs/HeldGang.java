package dev.berth.routing.legs;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.routing.LeasedSelection;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The selections acquired so far for several legs, owned until their hand-over or release.
 * Selections are renewed while others are missing, so a lease need not exceed its caller's time to
 * live, and an abandoned owner retains no slot. Confined to its loop.
 */
final class HeldGang {
  private final GangReservation owner; // receives no result from before a giveBack
  private final @Nullable LeasedSelection[] held;
  private int unconfirmed;
  private int round; // results of an earlier round are ignored

  HeldGang(int legs, GangReservation owner) {
    this.owner = owner;
    this.held = new LeasedSelection[legs];
  }

  void put(int place, LeasedSelection selection) {
    held[place] = selection;
  }

  boolean has(int place) {
    return held[place] != null;
  }

  /** Renews all held leases. */
  void keep() {
    renewAll(() -> {});
  }

  /** Renews each lease to its full time once all legs are held, which confirms them. */
  void confirm() {
    unconfirmed = held.length;
    renewAll(this::oneConfirmed);
  }

  private void renewAll(Runnable then) {
    int at = round;
    for (int place = 0; place < held.length && at == round; place++) {
      LeasedSelection selection = held[place];
      if (selection != null) {
        renew(selection, place, then);
      }
    }
  }

  private void oneConfirmed() {
    if (--unconfirmed == 0) {
      owner.confirmed();
    }
  }

  private void renew(LeasedSelection selection, int place, Runnable then) {
    if (selection.isStranded()) {
      owner.onLeaseLost(place);
      return;
    }
    if (selection.isFresh()) {
      then.run();
      return;
    }
    int at = round;
    selection
        .renew()
        .onComplete(
            (active, failure) -> {
              if (at != round) {
                return;
              }
              if (failure == null && active) {
                then.run();
              } else {
                owner.onLeaseLost(place);
              }
            });
  }

  /** Returns the selections and transfers their ownership to the receiver. */
  List<ReplicaSelection> handOver() {
    round++;
    List<ReplicaSelection> all =
        Arrays.stream(held).map(each -> (ReplicaSelection) Objects.requireNonNull(each)).toList();
    Arrays.fill(held, null);
    return all;
  }

  /** Releases all held slots. A failed release is added to {@code why} as suppressed. */
  void giveBack(BerthException why) {
    round++;
    for (int place = 0; place < held.length; place++) {
      LeasedSelection selection = held[place];
      if (selection != null) {
        held[place] = null;
        selection.close().onFailure(why::addSuppressed);
      }
    }
  }
}
