import { parseBucketUrl } from '../../../packages/s3-client/bucket-url.ts'
import type { KeyOfScope } from '../../config/setting-scopes.ts'
import { settings } from '../../config/setting-table.ts'
import { type Config, ConfigError } from '../../config/settings.ts'
import { hashToken, type Secrets, Signer } from '../../lib/tokens.ts'
import type { Store } from '../../store/store.ts'
import type { SharedSetting } from '../../store/tables/nodes.ts'

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
  const isDifferent = ({ name, accepted }: Fingerprint) =>
    stored.some((one) => one.name === name && !accepted.includes(one.fingerprint))
  return fingerprints(settings)
    .filter(isDifferent)
    .map(({ name }) => name)
}

/** All nodes must have these settings from their next start on. */
export async function replaceSharedSettings(store: Store, settings: SharedSettings): Promise<void> {
  const own = fingerprints(settings).map(toStored)
  await store.execute('durable', (queries) => queries.sharedSettings.replace(own))
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
