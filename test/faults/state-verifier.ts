import type { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { sha256 } from '../api/content.ts'
import type { Random } from '../support/random.ts'
import type { AckLog, KnownAccount, KnownSite, State, UnfinalizedVersion } from './ack-log.ts'
import { firstSite, generateBytes, INDEX, type MadeSite, publishFiles } from './site-content.ts'
import type { SiteVisitor, Visit } from './visitor.ts'

interface StateVerifierOptions {
  ackLog: AckLog
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
  readonly #ackLog: AckLog
  readonly #client: Slipway
  readonly #visitor: SiteVisitor

  constructor({ ackLog, client, visitor }: StateVerifierOptions) {
    this.#ackLog = ackLog
    this.#client = client
    this.#visitor = visitor
  }

  /** Verifies every site and account with new facts, and that an anonymous client can publish. */
  async verifyTouched(random: Random): Promise<Faults> {
    const { touched, touchedAccounts } = this.#ackLog
    this.#ackLog.touched = new Set()
    this.#ackLog.touchedAccounts = new Set()
    return [
      ...(await this.verifySites(touched)),
      ...(await this.verifyKeys(touchedAccounts)),
      ...(await this.verifyUnfinalized()),
      ...(await this.verifyPublishing(random)),
    ]
  }

  /** Every file of every site belongs to the acknowledged version, or to one requested since without a response. */
  async verifySites(sites: Iterable<KnownSite>): Promise<Faults> {
    const faults: Faults = []
    await forEachConcurrent(4, [...sites], async (site) => {
      const acknowledged = await this.#differences(site.slug, site.state)
      if (acknowledged.length === 0) return this.#ackLog.resolve(site.slug, site.state)
      const requested =
        site.requested === undefined ? undefined : await this.#differences(site.slug, site.requested)
      if (requested?.length === 0) return this.#ackLog.resolve(site.slug, site.requested!)
      faults.push(`${site.slug} is not what was acknowledged: ${summary(acknowledged)}`)
      if (requested) faults.push(`nor what was requested since: ${summary(requested)}`)
    })
    return faults
  }

  /** The last key of each account is valid, earlier keys are not. */
  async verifyKeys(emails: Iterable<string>): Promise<Faults> {
    const faults: Faults = []
    for (const email of emails)
      faults.push(...(await this.#verifyAccountKeys(email, this.#ackLog.accounts.get(email)!)))
    return faults
  }

  /** Unfinalized versions can be finalized after uploading again the files that the server reports missing. */
  async verifyUnfinalized(): Promise<Faults> {
    const faults: Faults = []
    for (const version of this.#ackLog.unfinalized) {
      const site = this.#ackLog.sites.get(version.slug)!
      const account = site.email === undefined ? undefined : this.#ackLog.accounts.get(site.email)
      if (site.state === null || site.requested !== undefined || !account?.key || account.keyUncertain)
        continue
      faults.push(...(await this.#finalizeAndVerify(version, this.#client.with({ key: account.key }))))
    }
    return faults
  }

  /** An anonymous client can publish. */
  async verifyPublishing(random: Random): Promise<Faults> {
    const state = firstSite('after', random)
    const { slug, claimToken } = await this.#client.publish({ files: publishFiles(state, random) })
    this.#ackLog.add({ kind: 'site', slug, claimToken })
    this.#ackLog.resolve(slug, state)
    const differences = await this.#differences(slug, state)
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

  async #finalizeAndVerify({ slug, versionId, state }: UnfinalizedVersion, owner: Slipway): Promise<Faults> {
    const { upload } = await owner.refresh(slug, { versionId })
    for (const target of upload.uploads) await this.#client.upload(target, generateBytes(state[target.path]!))
    await this.#finalize(owner, { slug, versionId, state })
    this.#ackLog.add({ kind: 'live', slug, versionId, state })
    const differences = await this.#differences(slug, state)
    return differences.length === 0
      ? []
      : [`${slug} is not what was uploaded before: ${summary(differences)}`]
  }

  /** Finalize may report files whose bytes the power cut lost; they are uploaded again, once. */
  async #finalize(owner: Slipway, { slug, versionId, state }: UnfinalizedVersion): Promise<void> {
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
    const differences: string[] = []
    await forEachConcurrent(8, Object.entries(state), async ([path, { hash, size }]) => {
      const { status, body } = await this.#visitor.get(slug, path).catch(toBrokenVisit)
      if (status !== 200) differences.push(`${path} is answered with ${status || 'a broken connection'}`)
      else if (sha256(body) !== hash)
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
