import { settingScopes } from '../../config/setting-scopes.ts'
import { settings } from '../../config/setting-table.ts'
import type { Config } from '../../config/settings.ts'
import type { Log } from '../../lib/log.ts'
import { type Secrets, Signer } from '../../lib/tokens.ts'
import type { Store } from '../../store/store.ts'
import type { SharedSetting } from '../../store/tables/nodes.ts'

/** Settings that all nodes should have. Nodes start despite differences, because settings change node by node. */
export class FleetSettings {
  /** By name, that of the present secret first. Signed, because a value may be guessed. */
  readonly #own: ReadonlyMap<string, readonly [string, ...string[]]>
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

  findDifferent(stored: readonly SharedSetting[]): string[] {
    return stored
      .filter(({ name, fingerprint }) => !(this.#own.get(name) ?? [fingerprint]).includes(fingerprint))
      .map(({ name }) => name)
      .sort()
  }

  /** Logs each difference once. */
  async warn(store: Store, log: Pick<Log, 'warn'>): Promise<void> {
    const different = this.findDifferent(await store.read.sharedSettings.list()).join(', ')
    const isNew = different !== '' && different !== this.#logged
    this.#logged = different
    if (!isNew) return
    log.warn('this node and the one that started last have different settings', { settings: different })
  }

  /** Other nodes then compare their settings with these. */
  async store(store: Store): Promise<void> {
    const stored = new Map((await store.read.sharedSettings.list()).map((one) => [one.name, one.fingerprint]))
    const own = [...this.#own]
      .map(([name, [fingerprint]]) => ({ name, fingerprint }))
      .filter(({ name, fingerprint }) => stored.get(name) !== fingerprint)
    if (own.length > 0) await store.execute('durable', (queries) => queries.sharedSettings.replace(own))
  }
}

/** Does not depend on the order of the fields in objects. */
function serialize(value: unknown): string {
  const sorted = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
  return sorted ?? ''
}
