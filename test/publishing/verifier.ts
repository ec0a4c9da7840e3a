import type { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { sha256 } from '../api/content.ts'
import type { Random } from '../support/random.ts'
import { firstSite, generateBytes, INDEX, publishFiles } from './content.ts'
import type { History, KnownAccount, SiteHistory, State, UploadedVersion } from './history.ts'
import type { SiteVisitor, Visit } from './site-visitor.ts'

interface StateVerifierOptions {
  history: History
  /** A client without a key. */
  client: Slipway
  visitor: SiteVisitor
}

/** One sentence per difference from the acknowledged state. */
export type Faults = string[]

/**
 * Compares a running server with the log, over its API and its edge. Resolves uncertain states in the log by what the
 * server serves.
 */
export class StateVerifier {
  readonly #history: History
  readonly #client: Slipway
  readonly #visitor: SiteVisitor

  constructor({ history, client, visitor }: StateVerifierOptions) {
    this.#history = history
    this.#client = client
    this.#visitor = visitor
  }

  /** Verifies every site and account with new facts, and that an anonymous client can publish. */
  async verifyTouched(random: Random): Promise<Faults> {
    const { touched, touchedAccounts } = this.#history
    this.#history.touched = new Set()
    this.#history.touchedAccounts = new Set()
    return [
      ...(await this.verifySites(touched)),
      ...(await this.verifyKeys(touchedAccounts)),
      ...(await this.verifyUnfinalized()),
      ...(await this.verifyPublishing(random)),
    ]
  }

  /**
   * Every file of every site belongs to the acknowledged version, or to one requested since without a response; which one
   * ends the uncertainty. One that has expired may be gone.
   */
  async verifySites(sites: Iterable<SiteHistory>): Promise<Faults> {
    const faults: Faults = []
    await forEachConcurrent(4, [...sites], async (site) => {
      const found: string[] = []
      for (const state of site.possibleStates) {
        const differences = await this.#differences(site, state)
        if (differences.length === 0) return site.resolve(state)
        found.push(summary(differences))
      }
      // Also one that has expired since.
      const mayBeGone = site.isExpired() || site.isUnknown
      if (mayBeGone && (await this.#differences(site, null)).length === 0) return
      faults.push(
        `${site.slug} is not what was acknowledged: ${found.join('; nor what was requested since: ')}`,
      )
    })
    return faults
  }

  /** The last key of each account is valid, earlier keys are not. */
  async verifyKeys(emails: Iterable<string>): Promise<Faults> {
    const faults: Faults = []
    for (const email of emails)
      faults.push(...(await this.#verifyAccountKeys(email, this.#history.accounts.get(email)!)))
    return faults
  }

  /** Unfinalized versions can be finalized after uploading again the files that the server reports missing. */
  async verifyUnfinalized(): Promise<Faults> {
    const faults: Faults = []
    for (const version of this.#history.uploaded) {
      const site = this.#history.sites.get(version.slug)!
      const account = site.email === undefined ? undefined : this.#history.accounts.get(site.email)
      if (site.state === null || site.possibleStates.length > 1 || !account?.key || account.keyUncertain)
        continue
      faults.push(...(await this.#finalizeAndVerify(version, this.#client.with({ key: account.key }))))
    }
    return faults
  }

  /** An anonymous client can publish. */
  async verifyPublishing(random: Random): Promise<Faults> {
    const state = firstSite('after', random)
    const { slug, versionId, claimToken } = await this.#client.publish({ files: publishFiles(state, random) })
    this.#history.add({ kind: 'site', slug, claimToken })
    this.#history.add({ kind: 'live', slug, versionId, state })
    const differences = await this.#differences(this.#history.sites.get(slug)!, state)
    return differences.length === 0 ? [] : [`a new site is not what was published: ${summary(differences)}`]
  }

  async #verifyAccountKeys(email: string, { key, revoked, keyUncertain }: KnownAccount): Promise<Faults> {
    const faults: Faults = []
    if (key !== undefined && !keyUncertain && !(await this.#isValidKey(key)))
      faults.push(`the key of ${email} is not valid`)
    for (const one of revoked) {
      if (await this.#isValidKey(one))
        faults.push(`a key of ${email} is valid though a later one replaced it`)
    }
    return faults
  }

  async #isValidKey(key: string): Promise<boolean> {
    try {
      await this.#client.with({ key }).me()
      return true
    } catch (error) {
      if (isSlipwayError(error, 'UNAUTHORIZED')) return false
      throw error
    }
  }

  async #finalizeAndVerify({ slug, versionId, state }: UploadedVersion, owner: Slipway): Promise<Faults> {
    const { upload } = await owner.refresh(slug, { versionId })
    for (const target of upload.uploads) await this.#client.upload(target, generateBytes(state[target.path]!))
    await this.#finalize(owner, { slug, versionId, state })
    this.#history.add({ kind: 'live', slug, versionId, state })
    const differences = await this.#differences(this.#history.sites.get(slug)!, state)
    return differences.length === 0
      ? []
      : [`${slug} is not what was uploaded before: ${summary(differences)}`]
  }

  /** Finalize may report files whose bytes the power cut lost; they are uploaded again, once. */
  async #finalize(owner: Slipway, { slug, versionId, state }: UploadedVersion): Promise<void> {
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

  async #differences(site: SiteHistory, state: State): Promise<string[]> {
    const { slug } = site
    if (state === null) {
      const { status } = await this.#visitor.get(slug, INDEX)
      return status === 404 || status === 410 ? [] : [`it is served with ${status}`]
    }
    const differences: string[] = []
    await forEachConcurrent(8, Object.entries(state), async ([path, { hash, size }]) => {
      const { status, body } = await this.#visitor.get(slug, path).catch(toBrokenVisit)
      const bytes = path === INDEX && site.title !== null ? body.subarray(-size) : body
      if (status !== 200) differences.push(`${path} is answered with ${status || 'a broken connection'}`)
      else if (sha256(bytes) !== hash)
        differences.push(`${path} has other bytes (${body.length}, not ${size})`)
    })
    return differences
  }
}

/** The edge resets a response when a blob's length differs from its Content-Length. */
function toBrokenVisit(): Visit {
  return { status: 0, body: Buffer.alloc(0) }
}

function summary(differences: string[]): string {
  const more = differences.length > 3 ? ` and ${differences.length - 3} more` : ''
  return differences.slice(0, 3).join(', ') + more
}
