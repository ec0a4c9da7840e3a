import { settingScopes } from '../../config/setting-scopes.ts'
import { settings } from '../../config/setting-table.ts'
import type { Config } from '../../config/settings.ts'
import type { Log } from '../../lib/log.ts'
import { type Secrets, Signer } from '../../lib/tokens.ts'
import type { Store } from '../../store/store.ts'
import type { SharedSetting } from '../../store/tables/shared-settings.ts'

/**
 * The settings of this node that all nodes should have, and that do not keep a node from starting, because they change
 * node by node. Each node stores signatures of its own when it starts.
 */
export class FleetSettings {
  /** Signatures by name, that of the present secret first: a value may be guessed. */
  readonly #own: ReadonlyMap<string, readonly [string, ...string[]]>
  /** Names that were last logged. */
  #logged = ''

  constructor(config: Config, secret: Secrets) {
    const signer = new Signer(secret, 'fleet settings')
    const keys = Object.keys(settingScopes) as (keyof typeof settingScopes)[]
    const shared = keys.filter((key) => settingScopes[key] === 'fleet')
    this.#own = new Map(
      shared.map((key) => {
        const { name } = settings[key]
        return [name, signer.signAll([name, serialize(config[key])])]
      }),
    )
  }

  /** Names of the settings that differ from stored ones. */
  findDifferent(stored: readonly SharedSetting[]): string[] {
    return stored
      .filter(({ name, fingerprint }) => !(this.#own.get(name) ?? [fingerprint]).includes(fingerprint))
      .map(({ name }) => name)
      .sort()
  }

  /** Logs a warning when the settings differ from those of the node that started last, once for each difference. */
  async warn(store: Store, log: Pick<Log, 'warn'>): Promise<void> {
    const different = this.findDifferent(await store.read.sharedSettings.list()).join(', ')
    const isNew = different !== '' && different !== this.#logged
    this.#logged = different
    if (!isNew) return
    log.warn('this node and the one that started last have different settings', { settings: different })
  }

  /** Makes these settings those with which the others compare theirs. */
  async store(store: Store): Promise<void> {
    const stored = new Map((await store.read.sharedSettings.list()).map((one) => [one.name, one.fingerprint]))
    const own = [...this.#own]
      .map(([name, [fingerprint]]) => ({ name, fingerprint }))
      .filter(({ name, fingerprint }) => stored.get(name) !== fingerprint)
    if (own.length > 0) await store.execute('durable', (queries) => queries.sharedSettings.replace(own))
  }
}

/** A value of a setting as a text that does not depend on the order of the fields in its objects. */
function serialize(value: unknown): string {
  const sorted = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
  return sorted ?? ''
}
