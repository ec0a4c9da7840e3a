import { MAX_REVIEW_LINKS } from '../../protocol/api/reviews.ts'
import { certificateKeyContext } from '../../server/certificates/stored-keys.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { encodeFields, hashToken, minIdAt, Signer } from '../../server/lib/tokens.ts'
import type { Store, WriteTransaction } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { emptyCertificate } from '../../server/store/tables/certificates.ts'
import type { Site } from '../../server/store/tables/sites.ts'
import { networkHolder } from '../../server/store/tables/usage.ts'
import type { Version } from '../../server/store/tables/versions.ts'
import { sha256 } from '../api/content.ts'
import {
  accountRow,
  codeRow,
  domainRow,
  keyRow,
  oauthRow,
  sessionRow,
  siteRow,
  trustRow,
  versionRow,
} from '../store/rows.ts'

/** The time at which all calls begin. */
export const NOW = Date.UTC(2030, 0, 15, 12, 30)

export const CLAIM_TOKEN = '0f0e0d0c-0b0a-4908-8706-050403020100'
export const SECRET = 'a secret of thirty-two characters'
export const CODE = 'ABCD-EFGH'
export const ATTEMPT = 'the attempt of ann'
export const SESSION = 'the session of ann'
export const KEY = 'the key of ann'
export const DEVICE_CLIENT = 'a client'
export const DEVICE_CODE = 'the code of a device'
/** The access of a program. */
export const PROGRAM: string = sha256('a program')
export const NAMED_KEY_HASH = sha256('named key 0')

/** The bytes of all files. */
export const CONTENT = '<!doctype html><title>A page</title>'
export const OTHER_CONTENT = '<!doctype html><title>Another page</title>'

export const FILE = {
  path: 'index.html',
  size: CONTENT.length,
  contentType: 'text/html',
  hash: sha256(CONTENT),
}
export const OTHER_FILE = {
  path: 'other.html',
  size: OTHER_CONTENT.length,
  contentType: 'text/html',
  hash: sha256(OTHER_CONTENT),
}

/** The bytes of `FILE`. */
const STORED = { hash: FILE.hash, size: FILE.size, object: 'an object', piecesHash: null }

export const ANN = accountRow('ann', {
  email: 'ann@example.test',
  keyHash: hashToken(KEY),
  createdAt: NOW - DAY_MS,
  administratorSince: NOW - DAY_MS,
})
export const BOB = accountRow('bob', {
  email: 'bob@example.test',
  createdAt: NOW - DAY_MS,
  administratorSince: NOW,
})
export const CAT = accountRow('cat', { email: 'cat@example.test', createdAt: NOW - DAY_MS })
export const DAN = accountRow('dan', { email: 'dan@example.test', deletionStartedAt: NOW - HOUR_MS })

/** Ids of the versions of the site `bakery`. */
export const LIVE = idAt(NOW - HOUR_MS, 'v')
export const OLD = idAt(NOW - 3 * HOUR_MS, 'z')
export const PREVIOUS = idAt(NOW - 2 * HOUR_MS, 'p')
export const DRAFT = idAt(NOW - 50 * MINUTE_MS, 'd')
export const PENDING = idAt(NOW - 40 * MINUTE_MS, 'w')

/** The version that the preview `pr-1` of `bakery` shows, its update, and two previews that are new. */
export const PREVIEW = idAt(NOW - 20 * MINUTE_MS, 'r')
export const PREVIEW_UPDATE = idAt(NOW - 19 * MINUTE_MS, 'r')
export const NEW_PREVIEWS = [idAt(NOW - 18 * MINUTE_MS, 'r'), idAt(NOW - 17 * MINUTE_MS, 'r')] as const

/** The review of this preview, a place in it and its thread. */
export const REVIEWED = { slug: 'bakery', previewName: 'pr-1' }
export const PLACE = { path: '/', selector: 'p', text: 't', before: '', after: '', width: 1, height: 1 }
export const THREAD = idAt(NOW - 10 * MINUTE_MS, 't')

/** The hash of a blocked file. */
export const BLOCKED: string = sha256('a blocked file')

const SUSPENSION = { reason: 'a reason', publicReason: null, note: null, since: NOW - DAY_MS }

/** A version of `anon` that waits for its files. */
export const ANON_PENDING = idAt(NOW - 30 * MINUTE_MS, 'a')

/** An id of a version. */
function idAt(time: number, character: string): string {
  return minIdAt(time) + character.repeat(16)
}

/**
 * Sites, accounts and domains in many states, each limit one below its maximum: so any two calls that together would
 * exceed one are in conflict.
 */
export async function insertFixture(store: Store): Promise<void> {
  await store.write('relaxed', {}, async (tx) => {
    for (const account of [ANN, BOB, CAT, DAN]) await tx.rows.insert('accounts', account)
    await insertSignIns(tx)
    await insertBakery(tx)
    await insertOtherSites(tx)
    await insertDomains(tx)
    await insertCertificates(tx)
    await insertNotices(tx)
    await insertModeration(tx)
    await tx.audit.add({
      at: NOW - 500 * DAY_MS,
      actor: COMMAND_LINE,
      action: 'administrator.add',
      target: 'ann',
    })
    await tx.counters.add('account:ann', hour(NOW))
    for (let number = 0; number < 4; number++) await tx.counters.add('guess:address:192.0.2.7', NOW)
    await tx.visits.getOrCreateSalt(day(NOW), 'the salt of today')
    await tx.visits.add(hour(NOW - DAY_MS), day(NOW - DAY_MS), [
      { slug: 'bakery', requests: 1, bytes: 1, visitors: ['a visitor'], names: [] },
    ])
  })
}

export function hour(time: number): number {
  return Math.floor(time / HOUR_MS) * HOUR_MS
}

function day(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS
}

async function insertSignIns(tx: WriteTransaction): Promise<void> {
  for (const [idHash, expiresAt] of [
    [PROGRAM, NOW + DAY_MS],
    [sha256('an expired program'), NOW - HOUR_MS],
  ] as const)
    await tx.oauth.save(
      oauthRow(idHash, { payload: { hasStarted: true }, createdAt: NOW - DAY_MS, expiresAt }),
    )
  await tx.rows.insert('trusts', trustRow('a trust', { createdAt: NOW, site: 'bakery' }))
  await tx.trusts.useToken('an expired token', NOW - HOUR_MS)
  for (let number = 0; number < 49; number++)
    await tx.rows.insert(
      'named_keys',
      keyRow(sha256(`named key ${number}`), { name: `key ${number}`, createdAt: NOW - DAY_MS }),
    )
  for (const state of ['pending', 'approved'] as const)
    await tx.rows.insert('device_sign_ins', {
      ...{ program: 'a program', machine: 'a machine', network: 'n', scope: 'manage', state },
      deviceHash:
        state === 'approved' ? hashToken(encodeFields([DEVICE_CLIENT, DEVICE_CODE])) : 'a pending one',
      userCodeHash: new Signer(SECRET, 'device codes').sign([state === 'pending' ? CODE : 'another']),
      ...{ createdAt: NOW, expiresAt: NOW + MINUTE_MS, intervalMs: 5000, polledAt: null },
      accountId: state === 'approved' ? ANN.id : null,
      allowedBy: state === 'approved' ? hashToken(KEY) : null,
    })
  const codeHash = new Signer(SECRET, 'verification codes').sign([ANN.email, CODE])
  const code = { email: ANN.email, codeHash, attemptTries: 4, expiresAt: NOW + MINUTE_MS }
  await tx.rows.insert('sign_in_codes', codeRow(hashToken(ATTEMPT), code))
  for (let number = 0; number < 3; number++)
    await tx.rows.insert(
      'sessions',
      sessionRow(number === 0 ? hashToken(SESSION) : sha256(`session ${number}`), {
        createdAt: NOW - DAY_MS + number,
        expiresAt: number === 2 ? NOW - HOUR_MS : NOW + DAY_MS,
      }),
    )
}

async function insertBakery(tx: WriteTransaction): Promise<void> {
  await tx.sites.insert(
    owned('bakery', {
      title: 'A bakery',
      liveVersionId: LIVE,
      previousVersionId: PREVIOUS,
      expiresAt: NOW + 5 * HOUR_MS,
    }),
  )
  const published = { state: 'ready', publishedBy: 'ann', publishedWith: 'key' } as const
  await tx.rows.insert('versions', withFile(OLD, 'bakery', { ...published, publishedAt: NOW - 3 * HOUR_MS }))
  await tx.rows.insert(
    'versions',
    withFile(PREVIOUS, 'bakery', { ...published, publishedAt: NOW - 2 * HOUR_MS }),
  )
  await tx.rows.insert('versions', withFile(LIVE, 'bakery', { ...published, publishedAt: NOW - HOUR_MS }))
  await tx.rows.insert('versions', withFile(DRAFT, 'bakery', published))
  await tx.rows.insert('versions', pending(PENDING, 'bakery', { publishedBy: 'ann', publishedWith: 'key' }))
  const named = (previewName: string) => ({ previewName, previewUntil: NOW + HOUR_MS })
  await tx.rows.insert(
    'versions',
    withFile(PREVIEW, 'bakery', { ...published, ...named('pr-1'), contentHash: 'c' }),
  )
  for (const [id, name] of [
    [PREVIEW_UPDATE, 'pr-1'],
    [NEW_PREVIEWS[0], 'pr-2'],
    [NEW_PREVIEWS[1], 'pr-3'],
  ] as const)
    await tx.rows.insert(
      'versions',
      withFile(id, 'bakery', { files: [{ ...FILE, known: true }], state: 'pending', ...named(name) }),
    )
  await tx.blobs.add('bakery', [STORED])
  await insertReview(tx)
  for (let number = 0; number < 19; number++)
    await tx.collaborators.add({
      slug: 'bakery',
      email: number === 0 ? BOB.email : `friend-${number}@example.test`,
      addedAt: NOW - DAY_MS,
    })
}

async function insertReview(tx: WriteTransaction): Promise<void> {
  const author = { name: 'Ann', role: 'owner' } as const
  const comments = [{ id: THREAD, author, text: 'a', at: NOW - 10 * MINUTE_MS }]
  await tx.rows.insert('review_threads', {
    ...{ id: THREAD, ...REVIEWED, versionId: PREVIEW, place: PLACE, status: 'open', outdatedIn: null },
    ...{ comments, characters: 2, createdAt: NOW - 10 * MINUTE_MS, changedAt: NOW - 10 * MINUTE_MS },
  })
  for (let number = 0; number < MAX_REVIEW_LINKS - 1; number++)
    await tx.rows.insert('review_links', {
      ...{ id: `link ${number}`, ...REVIEWED, tokenHash: `link ${number}`, audience: 'anyone' },
      ...{ createdBy: ANN.id, keyHash: null, createdAt: NOW - HOUR_MS, expiresAt: null },
    })
}

async function insertOtherSites(tx: WriteTransaction): Promise<void> {
  const claimTokenHash = hashToken(CLAIM_TOKEN)
  const anonymous = { ownerId: null, network: 'a network', claimTokenHash, expiresAt: NOW + HOUR_MS }
  const live = (slug: string) => idAt(NOW - 3 * HOUR_MS + slug.charCodeAt(0), '0')
  const sites: Site[] = [
    owned('cafe', { liveVersionId: live('cafe') }),
    owned('anon', { ...anonymous, liveVersionId: live('anon') }),
    owned('trashed', { liveVersionId: live('trashed'), ...trashed(NOW + DAY_MS) }),
    owned('overdue', { liveVersionId: live('overdue'), ...trashed(NOW - MINUTE_MS) }),
    owned('expired', { liveVersionId: live('expired'), expiresAt: NOW - MINUTE_MS }),
    owned('unfinished', { createdAt: NOW - 9 * DAY_MS, updatedAt: NOW - 9 * DAY_MS }),
    owned('suspended', { ownerId: 'cat', suspension: SUSPENSION }),
    owned('leaving', { ownerId: 'dan', liveVersionId: live('leaving') }),
  ]
  for (const site of sites) {
    await tx.sites.insert(site)
    const { slug, liveVersionId } = site
    if (liveVersionId === null) continue
    await tx.rows.insert(
      'versions',
      withFile(liveVersionId, slug, { state: 'ready', publishedAt: NOW - 3 * HOUR_MS }),
    )
    await tx.blobs.add(slug, [STORED])
  }
  await tx.rows.insert('versions', pending(ANON_PENDING, 'anon'))
  await tx.usage.add(networkHolder('a network'), { bytes: 1, sites: 1 })
  await tx.versions.recordArrivals(
    [PENDING, ANON_PENDING].map((versionId) => {
      const object = `an object of ${versionId}`
      return {
        versionId,
        fileNumber: 1,
        hash: OTHER_FILE.hash,
        size: OTHER_FILE.size,
        object,
        piecesHash: null,
      }
    }),
  )
  const unreferenced = [OTHER_FILE.hash, sha256('unreferenced')].map((hash) => {
    return { hash, size: OTHER_FILE.size, object: `an object of ${hash}`, piecesHash: null }
  })
  await tx.blobs.add('a deleted site', unreferenced)
  await tx.blobs.removeReferences(
    'a deleted site',
    [OTHER_FILE.hash, sha256('unreferenced')],
    NOW - 30 * DAY_MS,
  )
  await tx.rows.insert(
    'versions',
    pending(idAt(NOW - 9 * DAY_MS, 'x'), 'unfinished', { createdAt: NOW - 9 * DAY_MS }),
  )
  await tx.rows.insert(
    'versions',
    pending(idAt(NOW - 9 * DAY_MS, 'c'), 'cafe', { createdAt: NOW - 9 * DAY_MS }),
  )
  for (let number = 0; number < 9; number++)
    await tx.sites.insert(
      owned(`former-${number}`, {
        deletedAt: number === 0 ? NOW - 40 * DAY_MS : NOW - HOUR_MS,
        deletionReason: 'renamed',
        renamedTo: 'cafe',
        visitsKey: 'cafe',
      }),
    )
}

async function insertDomains(tx: WriteTransaction): Promise<void> {
  const own = { accountId: 'ann', slug: 'bakery', createdAt: NOW - DAY_MS }
  await tx.domains.insert(
    domainRow('shop.test', {
      ...own,
      status: 'active',
      verificationToken: 'proof of shop.test',
      verifiedAt: NOW - DAY_MS,
      nextCheckAt: NOW - MINUTE_MS,
      failingSince: NOW - 2 * HOUR_MS,
      reason: 'no record was found',
    }),
  )
  for (const owner of [own, { accountId: 'cat', slug: 'catalog' }])
    await tx.domains.insert(
      domainRow('new.test', {
        ...owner,
        verificationToken: 'proof of new.test',
        pendingSince: NOW - HOUR_MS,
        nextCheckAt: NOW - MINUTE_MS,
        checkedAt: NOW - HOUR_MS,
      }),
    )
  await tx.domains.insert(domainRow('bare.test', { accountId: 'cat', slug: 'catalog', status: 'active' }))
  await tx.sites.insert(owned('catalog', { ownerId: 'cat' }))
  await tx.rows.put('held_domains', {
    domain: 'held.test',
    accountId: 'ann',
    verificationToken: 'h',
    until: NOW - 1,
  })
}

async function insertCertificates(tx: WriteTransaction): Promise<void> {
  await tx.rows.insert('certificates', {
    ...emptyCertificate('shop.test'),
    chain: 'a chain',
    key: new SecretBox(SECRET).encrypt('the key of a certificate', certificateKeyContext('shop.test')),
    notBefore: NOW - 60 * DAY_MS,
    notAfter: NOW + 30 * DAY_MS,
    issuedAt: NOW - 60 * DAY_MS,
    certificateId: 'an id',
    informationAt: NOW - MINUTE_MS,
    dueAt: NOW - MINUTE_MS,
  })
  for (const name of ['bakery.sites.test', 'cafe.sites.test'])
    await tx.rows.insert('certificates', { ...emptyCertificate(name), dueAt: NOW - MINUTE_MS })
  await tx.rows.insert('certificates', {
    ...emptyCertificate('failed.test'),
    failures: 9,
    problem: 'a problem',
  })
  await tx.rows.insert('certificates', {
    ...emptyCertificate('gone.test'),
    unusedSince: NOW - 20 * DAY_MS,
  })
}

async function insertNotices(tx: WriteTransaction): Promise<void> {
  for (let number = 0; number < 19; number++) {
    const event = {
      kind: 'site-shared',
      slug: 'bakery',
      ownerEmail: ANN.email,
      to: `${number}@example.test`,
    } as const
    const id = `site-shared bakery ${number}`
    await tx.notices.add({ id, accountId: 'ann', event, createdAt: NOW - HOUR_MS })
    if (number > 0) await tx.notices.update(id, { attempts: 1, dueAt: null })
  }
}

/** A block that ends now, open reports of `bakery`, old ones, and an old verdict. */
async function insertModeration(tx: WriteTransaction): Promise<void> {
  await tx.rows.put('blocks', {
    ...{ kind: 'hash', value: BLOCKED, reason: 'a reason' },
    ...{ createdAt: NOW - DAY_MS, expiresAt: NOW },
  })
  const report = {
    at: NOW - DAY_MS,
    reason: 'malware',
    url: 'https://bakery.sites.test/',
    text: '',
    email: null,
  }
  for (const [site, lastAt] of Object.entries({ bakery: NOW - HOUR_MS, cafe: NOW - 200 * DAY_MS }))
    await tx.rows.put('reports', {
      ...{ site, state: 'open', count: 1, firstAt: lastAt, lastAt, decidedAt: null },
      ...{ latest: [report], mailedCount: 0, mailedAt: null },
    })
  for (let number = 0; number < 19; number++) await tx.counters.add('report:192.0.2.9', hour(NOW))
  await tx.scans.accept('a scanner', [FILE.hash], NOW - 40 * DAY_MS)
}

function owned(slug: string, change: Partial<Site> = {}): Site {
  return siteRow(slug, {
    ownerId: 'ann',
    createdAt: NOW - 4 * HOUR_MS,
    updatedAt: NOW - 10 * HOUR_MS,
    ...change,
  })
}

function trashed(keptUntil: number): Partial<Site> {
  const keptDomains = [
    { domain: `kept-${keptUntil}.test`, verificationToken: 'proof of kept.test', primaryDomain: null },
  ]
  return { deletedAt: NOW - HOUR_MS, deletionReason: 'deleted', keptUntil, keptDomains }
}

function withFile(id: string, slug: string, change: Partial<Version> = {}): Version {
  return versionRow(id, slug, {
    files: [FILE],
    fileCount: 1,
    totalBytes: FILE.size,
    createdAt: NOW - HOUR_MS,
    ...change,
  })
}

/** A version that only misses a file that is not received yet, or is received in the fixture. */
function pending(id: string, slug: string, change: Partial<Version> = {}): Version {
  return versionRow(id, slug, {
    state: 'pending',
    files: [{ ...FILE, known: true }, OTHER_FILE],
    fileCount: 2,
    totalBytes: FILE.size + OTHER_FILE.size,
    createdAt: NOW - 40 * MINUTE_MS,
    ...change,
  })
}
