import { isSlipwayError, type Slipway } from '../../client/sdk/slipway.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { type Contents, toFiles, toManifest, toPlainManifest } from '../api/content.ts'
import { SECRETS } from '../api/planted-secrets.ts'
import { buildArchive } from '../archive/build-archive.ts'
import { type Person, refusalsOf, refusalsOfToken, Site, suspensionOf } from './sites.ts'
import type { Step } from './step.ts'

const ANONYMOUS_LIFETIME_MS = DAY_MS
const PREVIEW_LIFETIME_MS = 2 * HOUR_MS

const SECRET_TEXT = SECRETS.find(([kind]) => /GitHub/.test(kind))![1]()

export interface PublishChoice {
  preview?: string
  merge?: boolean
  live?: false
  ifChanged?: boolean
}

interface SendOptions extends PublishChoice {
  files: Contents
  slug?: string
  name?: string
  ttlSeconds?: null
  claimToken?: string
  allowSecrets?: string[]
}

/** Publishes a new site of an account, or without one. */
export async function create(step: Step, owner: Person | undefined): Promise<void> {
  const files = step.files()
  const name = owner && step.random.chance(0.3) ? step.model.nextName() : undefined
  // Only an owner may choose how long.
  const endless = step.random.chance(0.1) ? { ttlSeconds: null } : {}
  const refused =
    'ttlSeconds' in endless && !owner ? { must: ['VALIDATION_ERROR'], may: [] } : suspensionOf(owner)
  const made = await step.attempt(`create ${name ?? 'a site'} of ${owner?.email}`, refused, () =>
    send(step, step.client(owner?.key), { files, ...endless, ...(name !== undefined && { name }) }),
  )
  if (!made) return
  const expiresAt = owner ? Number.POSITIVE_INFINITY : step.now + ANONYMOUS_LIFETIME_MS
  const site = new Site({ slug: made.slug, owner, claimToken: made.claimToken, expiresAt })
  step.model.sites.push(site)
  step.site = site
  site.goLive({ id: made.versionId, files, wasLive: true }, step.now)
}

export async function update(step: Step, site: Site, choice: PublishChoice): Promise<void> {
  const { preview, live } = choice
  const { now } = step
  const base = (preview !== undefined && site.preview(preview, now)?.version) || site.live
  const merge = choice.merge === true && base !== undefined
  const files = filesOf(step, site)
  const all = merge ? { ...base.files, ...files } : files
  const credential = site.owner && step.credential(site)
  const needs = preview === undefined ? 'publish' : 'preview'
  const refused = credential
    ? refusalsOf(site, credential, { right: 'publish', needs, now })
    : refusalsOfToken(site, now)
  const given = {
    files,
    slug: site.slug,
    ...choice,
    merge,
    ...(!credential && { claimToken: site.claimToken! }),
  }
  const made = await step.attempt(`update ${site.slug} ${JSON.stringify(choice)}`, refused, () =>
    send(step, step.client(credential), given),
  )
  if (!made) return
  if (made.unchanged) {
    if (toText(all) !== toText(base!.files)) throw new Error(`${site.slug} is not unchanged`)
    return
  }
  const version = { id: made.versionId, files: all, wasLive: false }
  if (preview !== undefined) site.setPreview(preview, version, { now, expiresAt: now + PREVIEW_LIFETIME_MS })
  else if (live === false) site.keep(version)
  else site.goLive(version, now)
}

/** New ones, or those of an earlier version, of which little may be stored any more. */
function filesOf(step: Step, { versions }: Site): Contents {
  const isOld = versions.length > 0 && step.random.chance(0.3)
  return isOld ? { ...step.random.pick(versions.slice(-6)).files } : step.files()
}

/** Begins an update, and uploads some of its files. */
export async function stage(step: Step): Promise<void> {
  const site = step.ownedSite()
  const files = filesOf(step, site)
  const client = step.client(site.owner!.key)
  const manifest = step.random.chance(0.5) ? toManifest(files) : toPlainManifest(files)
  const refused = refusalsOf(site, site.owner!.key, { right: 'publish', needs: 'publish', now: step.now })
  const staged = await step.attempt(`stage ${site.slug}`, refused, () =>
    client.update(site.slug, { files: manifest }),
  )
  if (!staged) return
  const { versionId: id, uploads } = staged.upload
  const missing = uploads.filter(() => step.random.chance(0.3))
  for (const target of uploads.filter((one) => !missing.includes(one)))
    await client.upload(target, Buffer.from(files[target.path]!))
  site.pending.push({ id, files, missing: missing.map(({ path }) => path) })
}

/** Uploads what is missing, or does not, and finalizes. */
export async function finalize(step: Step): Promise<void> {
  const site = step.chooseSite(({ pending, owner }) => owner && pending.length > 0)
  const version = step.pick(site.pending)
  const client = step.client(site.owner!.key)
  const refused = refusalsOf(site, site.owner!.key, { right: 'publish', needs: 'publish', now: step.now })
  // A version that waits for its files ends after a day, and with the trash.
  refused.may.push('NOT_FOUND')
  const refreshed = step.random.chance(0.8)
    ? await step.attempt(`refresh ${version.id} of ${site.slug}`, refused, () =>
        client.refresh(site.slug, { versionId: version.id }),
      )
    : undefined
  for (const target of refreshed?.upload.uploads ?? [])
    await client.upload(target, Buffer.from(version.files[target.path]!))
  // Another version may have brought the bytes that are missing.
  if (!refreshed && version.missing.length > 0) refused.may.push('UPLOADS_MISSING')
  const done = await step.attempt(`finalize ${version.id} of ${site.slug}`, refused, () =>
    client.finalize(site.slug, { versionId: version.id }),
  )
  if (!done) return
  site.pending.splice(site.pending.indexOf(version), 1)
  site.goLive({ id: version.id, files: version.files, wasLive: true }, step.now)
}

/** Publishes a secret, which is refused until the site allows it. */
export async function publishSecret(step: Step): Promise<void> {
  const site = step.chooseSite((one) => one.owner && one.isShown(step.now))
  const files = { ...step.files(), 'key.js': SECRET_TEXT }
  const client = step.client(site.owner!.key)
  const allowed = step.random.chance(0.5)
  let fingerprints: string[] = []
  const publish = (allowSecrets: string[]) =>
    send(step, client, { files, slug: site.slug, ...(allowSecrets.length > 0 && { allowSecrets }) })
  const made = await publish([]).catch((error: unknown) => {
    if (!isSlipwayError(error, 'SECRET_DETECTED')) throw error
    fingerprints = (error.details as { fingerprint: string }[]).map(({ fingerprint }) => fingerprint)
    return undefined
  })
  step.notes.push(`a secret in ${site.slug}: ${made ? 'done' : 'refused'}`)
  if ((made !== undefined) !== site.allowsSecret)
    throw new Error(`a secret in ${site.slug} was ${made ? 'published' : 'refused'}`)
  const done = made ?? (allowed ? await publish(fingerprints) : undefined)
  if (!done) return
  site.allowsSecret = true
  site.goLive({ id: done.versionId, files, wasLive: true }, step.now)
}

interface Sent {
  slug: string
  versionId: string
  claimToken?: string
  unchanged?: boolean
}

/** By a manifest, in one request, or as an archive. */
async function send(step: Step, client: Slipway, { files, slug, ...fields }: SendOptions): Promise<Sent> {
  const target = slug === undefined ? {} : { slug }
  const way = step.random.below(fields.ttlSeconds === null ? 3 : 4)
  if (way === 0) return client.publish({ files: toFiles(files), ...target, ...fields })
  if (way === 1)
    return client.publish({ files: toFiles(files).map(({ hash: _, ...one }) => one), ...target, ...fields })
  const sender = fields.claimToken === undefined ? client : client.with({ key: undefined })
  if (way === 2) {
    const entries = Object.entries(files).map(([path, content]) => ({ path, content: String(content) }))
    return sender.publishContents({ files: entries, ...fields }, slug)
  }
  const entries = Object.entries(files).map(([name, content]) => ({ name, data: Buffer.from(content) }))
  const { allowSecrets, ttlSeconds: _, ...query } = fields
  const allow = allowSecrets && { allowSecrets: allowSecrets.join(',') }
  const archive = { contentType: 'application/x-tar', ...target, ...query, ...allow } as const
  return sender.publishArchive(
    buildArchive('tar', entries),
    archive as Parameters<Slipway['publishArchive']>[1],
  )
}

function toText(files: Contents): string {
  return JSON.stringify(Object.entries(files).sort(([one], [other]) => one.localeCompare(other)))
}
