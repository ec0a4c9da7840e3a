import type { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import type { Random } from '../support/random.ts'
import type { AckLog, KnownAccount, KnownSite, State, Waiting } from './ledger.ts'
import { firstSite, generateBytes, INDEX, type MadeSite, publishFiles, sha256 } from './site-content.ts'
import type { SiteVisitor, Visit } from './visitor.ts'

interface StateVerifierOptions {
  ledger: AckLog
  /** A client without a key. */
  client: Slipway
  visitor: SiteVisitor
}

/** Sentences about what is not as it was acknowledged; none when all is well. */
export type Faults = string[]

/**
 * Compares a running service with the ledger, through its two doors. What was in doubt is settled in the ledger by
 * what is found.
 */
export class StateVerifier {
  readonly #ledger: AckLog
  readonly #client: Slipway
  readonly #visitor: SiteVisitor

  constructor({ ledger, client, visitor }: StateVerifierOptions) {
    this.#ledger = ledger
    this.#client = client
    this.#visitor = visitor
  }

  /** All that the ledger has facts of since the last time; and a stranger can publish. */
  async aboutTouched(random: Random): Promise<Faults> {
    const { touched, touchedAccounts } = this.#ledger
    this.#ledger.touched = new Set()
    this.#ledger.touchedAccounts = new Set()
    return [
      ...(await this.aboutSites(touched)),
      ...(await this.aboutKeys(touchedAccounts)),
      ...(await this.aboutWaiting()),
      ...(await this.aboutPublishing(random)),
    ]
  }

  /** Every site, file by file: one whole version, and the one that was acknowledged unless another was asked for since. */
  async aboutSites(sites: Iterable<KnownSite>): Promise<Faults> {
    const faults: Faults = []
    await forEachConcurrent(4, [...sites], async (site) => {
      const acknowledged = await this.#differences(site.slug, site.state)
      if (acknowledged.length === 0) return this.#ledger.settle(site.slug, site.state)
      const wished = site.wish === undefined ? undefined : await this.#differences(site.slug, site.wish)
      if (wished?.length === 0) return this.#ledger.settle(site.slug, site.wish!)
      faults.push(`${site.slug} is not what was acknowledged: ${summary(acknowledged)}`)
      if (wished) faults.push(`nor what was asked for since: ${summary(wished)}`)
    })
    return faults
  }

  /** Every account's last key works and those before do not. */
  async aboutKeys(emails: Iterable<string>): Promise<Faults> {
    const faults: Faults = []
    for (const email of emails)
      faults.push(...(await this.#aboutKeysOf(email, this.#ledger.accounts.get(email)!)))
    return faults
  }

  /** Versions that wait for finalize can be finalized, by uploading again whatever the service says is missing. */
  async aboutWaiting(): Promise<Faults> {
    const faults: Faults = []
    for (const waiting of this.#ledger.waiting) {
      const site = this.#ledger.sites.get(waiting.slug)!
      const account = site.email === undefined ? undefined : this.#ledger.accounts.get(site.email)
      if (site.state === null || site.wish !== undefined || !account?.key || account.unsure) continue
      faults.push(...(await this.#aboutWaiting(waiting, this.#client.with({ key: account.key }))))
    }
    return faults
  }

  /** A stranger can publish. */
  async aboutPublishing(random: Random): Promise<Faults> {
    const state = firstSite('after', random)
    const { slug, claimToken } = await this.#client.publish({ files: publishFiles(state, random) })
    this.#ledger.add({ kind: 'site', slug, claimToken })
    this.#ledger.settle(slug, state)
    const found = await this.#differences(slug, state)
    return found.length === 0 ? [] : [`a new site is not what was published: ${summary(found)}`]
  }

  async #aboutKeysOf(email: string, { key, ended, unsure }: KnownAccount): Promise<Faults> {
    const faults: Faults = []
    if (key !== undefined && !unsure && !(await this.#opens(key)))
      faults.push(`the key of ${email} does not work`)
    for (const one of ended) {
      if (await this.#opens(one)) faults.push(`a key of ${email} works though a later one ended it`)
    }
    return faults
  }

  async #opens(key: string): Promise<boolean> {
    try {
      await this.#client.with({ key }).me()
      return true
    } catch (error) {
      if (isSlipwayError(error, 'UNAUTHORIZED')) return false
      throw error
    }
  }

  async #aboutWaiting({ slug, versionId, state }: Waiting, owner: Slipway): Promise<Faults> {
    const { upload } = await owner.refresh(slug, { versionId })
    for (const target of upload.uploads) await this.#client.upload(target, generateBytes(state[target.path]!))
    await this.#finalize(owner, { slug, versionId, state })
    this.#ledger.add({ kind: 'live', slug, versionId, state })
    const found = await this.#differences(slug, state)
    return found.length === 0 ? [] : [`${slug} is not what was uploaded before: ${summary(found)}`]
  }

  /** What the service only now finds missing has lost its bytes with the power; it is uploaded again, once. */
  async #finalize(owner: Slipway, { slug, versionId, state }: Waiting): Promise<void> {
    try {
      await owner.finalize(slug, { versionId })
    } catch (error) {
      if (!isSlipwayError(error, 'UPLOADS_MISSING')) throw error
      const { upload } = await owner.refresh(slug, { versionId })
      for (const target of upload.uploads)
        await this.#client.upload(target, generateBytes(state[target.path]!))
      await owner.finalize(slug, { versionId })
    }
  }

  async #differences(slug: string, state: State): Promise<string[]> {
    if (state === null) {
      const { status } = await this.#visitor.get(slug, INDEX)
      return status === 404 || status === 410 ? [] : [`it is served with ${status}`]
    }
    return this.#differencesOfFiles(slug, state)
  }

  async #differencesOfFiles(slug: string, state: MadeSite): Promise<string[]> {
    const found: string[] = []
    await forEachConcurrent(8, Object.entries(state), async ([path, { hash, size }]) => {
      const { status, body } = await this.#visitor.get(slug, path).catch(brokenOff)
      if (status !== 200) found.push(`${path} is answered with ${status || 'a broken connection'}`)
      else if (sha256(body) !== hash) found.push(`${path} has other bytes (${body.length}, not ${size})`)
    })
    return found
  }
}

/** As the edge does when it finds that a blob has another length than it announced. */
function brokenOff(): Visit {
  return { status: 0, body: Buffer.alloc(0) }
}

function summary(differences: string[]): string {
  const more = differences.length > 3 ? ` and ${differences.length - 3} more` : ''
  return differences.slice(0, 3).join(', ') + more
}
