package dev.berth.desired;

import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;

class JournalLogTest extends StateLogContract {

  @Override
  protected StateLog make() {
    return new JournalLog(
        ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, folder.resolve("state")));
  }
}
