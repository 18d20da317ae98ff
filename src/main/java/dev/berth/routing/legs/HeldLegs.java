package dev.berth.routing.legs;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.routing.HeldSelection;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What several legs hold up to now. It owns their selections until they are handed over or given
 * back. What is held while others wait is renewed, so a lease need not be longer than its owner
 * asked for, and an owner that vanishes strands nothing. Confined to its loop.
 */
final class HeldLegs {
  private final RoutedLegs owner; // not told of what was asked for before a giveBack
  private final @Nullable HeldSelection[] held;
  private int unconfirmed;
  private int round; // answers to an earlier one mean nothing

  HeldLegs(int legs, RoutedLegs owner) {
    this.owner = owner;
    this.held = new HeldSelection[legs];
  }

  void put(int place, HeldSelection selection) {
    held[place] = selection;
  }

  boolean has(int place) {
    return held[place] != null;
  }

  /** Renews what is held. */
  void keep() {
    renewAll(() -> {});
  }

  /** All are there: each is renewed to its full time, and so known to hold. */
  void confirm() {
    unconfirmed = held.length;
    renewAll(this::oneConfirmed);
  }

  private void renewAll(Runnable then) {
    int at = round;
    for (int place = 0; place < held.length && at == round; place++) {
      HeldSelection selection = held[place];
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

  private void renew(HeldSelection selection, int place, Runnable then) {
    if (selection.isStranded()) {
      owner.lost(place);
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
                owner.lost(place);
              }
            });
  }

  /** The selections, which are the receiver's from now on. */
  List<ReplicaSelection> handOver() {
    round++;
    List<ReplicaSelection> all =
        Arrays.stream(held).map(each -> (ReplicaSelection) Objects.requireNonNull(each)).toList();
    Arrays.fill(held, null);
    return all;
  }

  /** Releases what is held. A failure of that is a suppressed one of what led to it. */
  void giveBack(BerthException why) {
    round++;
    for (int place = 0; place < held.length; place++) {
      HeldSelection selection = held[place];
      if (selection != null) {
        held[place] = null;
        selection.close().onFailure(why::addSuppressed);
      }
    }
  }
}
