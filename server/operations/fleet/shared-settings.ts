import { parseBucketUrl } from '../../blobs/s3/bucket-url.ts'
import { type Config, ConfigError } from '../../config/settings.ts'
import type { ServiceBranding } from '../../lib/branding.ts'
import { hashToken, type Secrets, Signer } from '../../lib/tokens.ts'
import type { SharedSetting } from '../../store/contract/shared-settings.ts'
import type { Store } from '../../store/store.ts'

/** The settings that all nodes of a database have in common. */
interface SharedSettings extends Pick<Config, 'baseUrl' | 'siteDomain' | 'proxyHost' | 'blobsUrl'> {
  secret: Secrets
}

/**
 * Compares the settings with those of the node that was first, by fingerprints in the database. ConfigError with a line
 * for each setting that differs.
 */
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

/** Names of the settings that differ from those of the other nodes; the first node stores its own. */
export async function findDifferentSettings(store: Store, settings: SharedSettings): Promise<string[]> {
  const own = fingerprints(settings)
  let stored = await store.read.sharedSettings.list()
  if (own.some(({ name }) => !stored.some((one) => one.name === name))) {
    await store.execute('durable', (queries) => queries.sharedSettings.addMissing(own.map(toStored)))
    stored = await store.read.sharedSettings.list()
  }
  return compareSharedSettings(stored, settings)
}

/** Names of the settings that differ from stored ones. */
export function compareSharedSettings(stored: readonly SharedSetting[], settings: SharedSettings): string[] {
  const isDifferent = ({ name, accepted }: Fingerprint) =>
    stored.some((one) => one.name === name && !accepted.includes(one.fingerprint))
  return fingerprints(settings)
    .filter(isDifferent)
    .map(({ name }) => name)
}

/**
 * Stores fingerprints of the branding, which does not keep a node from starting: it changes node by node. `check`
 * compares it with that of the node that started last.
 */
export async function storeBranding(store: Store, branding: ServiceBranding): Promise<void> {
  const stored = new Map((await store.read.sharedSettings.list()).map((one) => [one.name, one.fingerprint]))
  const own = brandingFingerprints(branding).filter(
    ({ name, fingerprint }) => stored.get(name) !== fingerprint,
  )
  if (own.length > 0) await store.execute('durable', (queries) => queries.sharedSettings.replace(own))
}

/** Names of the settings of the branding that differ from stored ones. */
export function compareBranding(stored: readonly SharedSetting[], branding: ServiceBranding): string[] {
  const known = new Map(stored.map((one) => [one.name, one.fingerprint]))
  return brandingFingerprints(branding)
    .filter(({ name, fingerprint }) => (known.get(name) ?? fingerprint) !== fingerprint)
    .map(({ name }) => name)
}

function brandingFingerprints({
  name,
  termsUrl,
  imprintUrl,
  accents,
  logo,
}: ServiceBranding): SharedSetting[] {
  return [
    { name: 'SLIPWAY_NAME', fingerprint: hashToken(name) },
    { name: 'SLIPWAY_TERMS_URL', fingerprint: hashToken(termsUrl) },
    { name: 'SLIPWAY_IMPRINT_URL', fingerprint: hashToken(imprintUrl) },
    { name: 'SLIPWAY_COLOR', fingerprint: hashToken(JSON.stringify(accents) ?? '') },
    { name: 'SLIPWAY_LOGO_FILE', fingerprint: hashToken(logo?.bytes.toString('base64') ?? '') },
  ]
}

/** Makes these settings those that all nodes must have from their next start on. */
export async function replaceSharedSettings(store: Store, settings: SharedSettings): Promise<void> {
  const own = fingerprints(settings).map(toStored)
  await store.execute('durable', (queries) => queries.sharedSettings.replace(own))
}

interface Fingerprint {
  name: string
  /** That of the present value first. */
  accepted: readonly [string, ...string[]]
}

function fingerprints(settings: SharedSettings): Fingerprint[] {
  const { secret, baseUrl, siteDomain, proxyHost, blobsUrl } = settings
  return [
    { name: 'SLIPWAY_SECRET', accepted: new Signer(secret, 'shared settings').signAll(['secret']) },
    { name: 'SLIPWAY_BASE_URL', accepted: [hashToken(baseUrl)] },
    { name: 'SLIPWAY_SITE_DOMAIN', accepted: [hashToken(siteDomain)] },
    { name: 'SLIPWAY_PROXY_HOST', accepted: [hashToken(proxyHost)] },
    { name: 'SLIPWAY_BLOBS_URL', accepted: [hashToken(blobPlace(blobsUrl))] },
  ]
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
