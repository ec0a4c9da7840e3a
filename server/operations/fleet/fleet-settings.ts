import { parseBucketUrl } from '../../../packages/s3-client/bucket-url.ts'
import { FLEET_KEYS, type KeyOfScope, settings } from '../../config/setting-table.ts'
import { type Config, ConfigError } from '../../config/settings.ts'
import { hashToken, type Secrets, Signer } from '../../lib/tokens.ts'
import type { Store } from '../../store/store.ts'
import type { SharedSetting } from '../../store/tables/nodes.ts'

/** Settings that all nodes should have. Nodes start despite differences, because settings change node by node. */
export class FleetSettings {
  /** Signed, because a value may be guessed. */
  readonly #own: readonly Fingerprint[]

  constructor(config: Config, secret: Secrets) {
    const signer = new Signer(secret, 'fleet settings')
    this.#own = FLEET_KEYS.map((key) => {
      const { name } = settings[key]
      return { name, accepted: signer.signAll([name, serialize(config[key])]) }
    })
  }

  findDifferent(stored: readonly SharedSetting[]): string[] {
    return listDifferent(this.#own, stored).sort()
  }

  /** Other nodes then compare their settings with these. */
  async store(store: Store): Promise<void> {
    await replaceDifferent(store, this.#own)
  }
}

function listDifferent(own: readonly Fingerprint[], stored: readonly SharedSetting[]): string[] {
  const isDifferent = ({ name, accepted }: Fingerprint) =>
    stored.some((one) => one.name === name && !accepted.includes(one.fingerprint))
  return own.filter(isDifferent).map(({ name }) => name)
}

async function replaceDifferent(store: Store, own: readonly Fingerprint[]): Promise<void> {
  const stored = new Map((await store.read.sharedSettings.list()).map((one) => [one.name, one.fingerprint]))
  const different = own.map(toStored).filter(({ name, fingerprint }) => stored.get(name) !== fingerprint)
  if (different.length > 0)
    await store.execute('durable', (queries) => queries.rows.put('shared_settings', different))
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

interface SharedSettings extends Pick<Config, 'baseUrl' | 'siteDomain' | 'proxyHost' | 'blobsUrl'> {
  secret: Secrets
}

/** Compares fingerprints in the database. ConfigError with a line for each setting that differs from the first node. */
export async function assertSharedSettings(store: Store, settings: SharedSettings): Promise<void> {
  const lines = (await findDifferentSettings(store, settings)).map(
    (name) => `${name} differs from that of the other nodes of the database`,
  )
  if (lines.length === 0) return
  lines.push(
    'Correct it, or make the settings of this machine those of all nodes: slipway-server settings share',
  )
  throw new ConfigError(lines.join('\n'))
}

/** The first node stores its own settings. */
export async function findDifferentSettings(store: Store, settings: SharedSettings): Promise<string[]> {
  const own = fingerprints(settings)
  let stored = await store.read.sharedSettings.list()
  if (own.some(({ name }) => !stored.some((one) => one.name === name))) {
    await store.execute('durable', (queries) => queries.sharedSettings.addMissing(own.map(toStored)))
    stored = await store.read.sharedSettings.list()
  }
  return compareSharedSettings(stored, settings)
}

export function compareSharedSettings(stored: readonly SharedSetting[], settings: SharedSettings): string[] {
  return listDifferent(fingerprints(settings), stored)
}

/** All nodes must have these settings from their next start on. */
export async function replaceSharedSettings(store: Store, settings: SharedSettings): Promise<void> {
  await replaceDifferent(store, fingerprints(settings))
}

/** What a command uses: where and how data are stored, also the domains, or also limits, lifetimes and so on. */
export type UsedSettings = 'storage' | 'identity' | 'all'

const BLOBS_URL = settings.blobsUrl.name
const STORAGE: readonly string[] = [settings.secret.name, BLOBS_URL]

/** ConfigError when the service that ran last on these data had other settings than a command, of those that it uses. */
export async function assertServiceSettings(
  store: Store,
  { config, secret, uses }: { config: Config; secret: Secrets; uses: UsedSettings },
): Promise<void> {
  const stored = await store.read.sharedSettings.list()
  const identity = compareSharedSettings(stored, { ...config, secret })
  const different = uses === 'storage' ? identity.filter((name) => STORAGE.includes(name)) : identity
  // The fingerprints of the others are signed with the secret.
  if (uses === 'all' && !identity.includes(settings.secret.name))
    different.push(...new FleetSettings(config, secret).findDifferent(stored))
  if (different.length === 0) return
  throw new ConfigError(
    `The service has other values of ${different.join(', ')}. Run the command with the settings of the service. If these are right, restart the service with them, or run \`slipway-server settings share\`.`,
  )
}

/** ConfigError for another bucket than before: all sites would fail, and publishes be where the next start has none. */
export async function assertSameBucket(store: Store, settings: SharedSettings): Promise<void> {
  const different = compareSharedSettings(await store.read.sharedSettings.list(), settings)
  if (!different.includes(BLOBS_URL)) return
  throw new ConfigError(
    `${BLOBS_URL} is not that of the service that ran last on these data. Correct it, or, when the files are there, run once: slipway-server settings share`,
  )
}

interface Fingerprint {
  name: string
  /** That of the present value first. */
  accepted: readonly [string, ...string[]]
}

function fingerprints({ secret, baseUrl, siteDomain, proxyHost, blobsUrl }: SharedSettings): Fingerprint[] {
  const values: Record<KeyOfScope<'identity'>, Fingerprint['accepted']> = {
    secret: new Signer(secret, 'shared settings').signAll(['secret']),
    baseUrl: [hashToken(baseUrl)],
    siteDomain: [hashToken(siteDomain)],
    proxyHost: [hashToken(proxyHost)],
    blobsUrl: [hashToken(blobPlace(blobsUrl))],
  }
  return Object.entries(values).map(([key, accepted]) => ({
    name: settings[key as KeyOfScope<'identity'>].name,
    accepted,
  }))
}

/** Where the files are, however the URL is written. The path of a shared folder may differ from node to node. */
function blobPlace(blobsUrl: string): string {
  if (blobsUrl === '') return 'folder'
  const { endpoint, name, prefix } = parseBucketUrl(blobsUrl)
  return `${endpoint.origin} ${name} ${prefix}`
}

function toStored({ name, accepted }: Fingerprint) {
  return { name, fingerprint: accepted[0] }
}
