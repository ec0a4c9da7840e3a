import { Readable } from 'node:stream'
import { UPLOAD_PATH } from '../../protocol/api/paths.ts'
import type { FinalizeRequest } from '../../protocol/api/publish.schema.ts'
import { auditActor } from '../../server/accounts/administrators.ts'
import type { Caller } from '../../server/accounts/authorization.ts'
import { sessionId } from '../../server/accounts/session.ts'
import type { IdToken } from '../../server/accounts/trusts/id-tokens.ts'
import { pruneVisits } from '../../server/analytics/retention.ts'
import { VisitRecorder } from '../../server/analytics/visit-recorder.ts'
import { refreshRenewalInfo } from '../../server/certificates/ari.ts'
import { createChallengeSolver } from '../../server/certificates/challenge-solver.ts'
import { Issuance } from '../../server/certificates/issuance.ts'
import { maintain, requestSiteCertificates } from '../../server/certificates/maintenance.ts'
import { reencryptKeys } from '../../server/certificates/stored-keys.ts'
import { TicketKeys } from '../../server/certificates/ticket-keys.ts'
import { AttemptLimiter } from '../../server/edge/password/attempt-limiter.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { hashToken } from '../../server/lib/tokens.ts'
import { Precompressor } from '../../server/publish/precompress/precompressor.ts'
import { SignedUploadUrls } from '../../server/publish/signed-uploads.ts'
import type { StagedVersion } from '../../server/publish/stage.ts'
import type { Account } from '../../server/store/tables/accounts.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { webp } from '../api/webp.ts'
import { silentLog } from '../support/silent-log.ts'
import { by, type CallSpec, sweepCalls } from './call.ts'
import {
  ANN,
  ANON_PENDING,
  ATTEMPT,
  BOB,
  CAT,
  CLAIM_TOKEN,
  CODE,
  DEVICE_CLIENT,
  DEVICE_CODE,
  DRAFT,
  FILE,
  KEY,
  LIVE,
  NAMED_KEY_HASH,
  NEW_PREVIEWS,
  NOW,
  OTHER_CONTENT,
  OTHER_FILE,
  PENDING,
  PLACE,
  PREVIEW,
  PREVIEW_UPDATE,
  PREVIOUS,
  PROGRAM,
  REVIEWED,
  SECRET,
  SESSION,
  THREAD,
} from './fixture.ts'
import { MODERATION_CALLS } from './moderation-calls.ts'
import type { Node } from './world.ts'

const reviewer = (account: Account) => ({ ...by(account), reviewToken: undefined })

/** A verified token of a job that `a trust` is for. */
const ID_TOKEN: IdToken = {
  issuer: 'https://issuer.test',
  job: {
    ...{ forge: 'github', repository: 'ann/bakery', repositoryId: '1', event: 'push' },
    ...{ environment: null, isProtected: true, workflow: null },
    ref: { kind: 'branch', name: 'main' },
  },
  hash: 'a token',
  expiresAt: NOW + HOUR_MS,
}

const CLIENT = { address: '192.0.2.7', browserTokens: [] }

/** Together they reach every write in `server/`. */
export const CALLS: Record<string, CallSpec> = {
  // Publishing
  'stage an update': {
    changes: ['bakery', 'usage'],
    run: ({ publishService }) => publishService.update(by(ANN), 'bakery', { files: [FILE, OTHER_FILE] }),
  },
  'stage a named site': {
    changes: ['the name', 'usage'],
    reads: ['ann'],
    run: ({ publishService }) => publishService.create(by(ANN), { files: [FILE], name: 'chosen' }),
  },
  'stage a site by name': {
    changes: ['the name', 'usage'],
    reads: ['ann'],
    run: ({ publishService }) =>
      publishService.create(by(ANN), { files: [OTHER_FILE], name: 'chosen', update: true }),
  },
  'stage an update by name': {
    changes: ['bakery', 'usage'],
    run: ({ publishService }) =>
      publishService.create(by(ANN), { files: [FILE], name: 'bakery', update: true }),
  },
  'stage an update of an anonymous site': {
    changes: ['anon', 'usage'],
    run: ({ publishService }) =>
      publishService.update(ANONYMOUS, 'anon', { files: [FILE], claimToken: CLAIM_TOKEN }),
  },
  'abort an update': {
    changes: ['bakery'],
    run: ({ pendingVersions }) => pendingVersions.abort(staged('bakery', PENDING, false)),
  },
  'upload a file': {
    changes: ['anon', 'blobs'],
    async run({ publishService, store }) {
      const signed = { slug: 'anon', versionId: ANON_PENDING, fileNumber: 1, ...OTHER_FILE }
      const target = new SignedUploadUrls({ baseUrl: '', secret: SECRET, clock: store.clock }).target(signed)
      const { pathname, searchParams } = new URL(target.url, 'https://pages.test')
      const body = Readable.from([Buffer.from(OTHER_CONTENT)])
      const key = pathname.slice(UPLOAD_PATH.length)
      await publishService.upload(key, Object.fromEntries(searchParams), body, {
        contentType: OTHER_FILE.contentType,
        contentLength: OTHER_FILE.size,
      })
    },
  },
  finalize: {
    changes: ['bakery', 'blobs', 'usage'],
    run: (node) => finalize(node, by(ANN), 'bakery', { versionId: PENDING }),
  },
  'finalize an anonymous update': {
    changes: ['anon', 'blobs', 'usage'],
    run: (node) => finalize(node, ANONYMOUS, 'anon', { versionId: ANON_PENDING, claimToken: CLAIM_TOKEN }),
  },
  'publish a draft': {
    changes: ['bakery'],
    run: (node) => finalize(node, by(ANN), 'bakery', { versionId: DRAFT }),
  },
  'publish contents': {
    changes: ['anon'],
    isDivisible: true,
    run(node) {
      node.versions.prune = async () => 0
      return node.archivePublisher.update(ANONYMOUS, 'anon', {
        source: { kind: 'contents', files: [{ path: 'index.html', bytes: Buffer.from(OTHER_CONTENT) }] },
        fields: { claimToken: CLAIM_TOKEN },
        live: true,
        ifChanged: false,
        include: {},
        keepTopFolder: false,
        confirmCaller: async () => undefined,
      })
    },
  },
  // Previews
  'stage a preview': {
    changes: ['bakery'],
    run: ({ publishService }) => publishService.update(by(ANN), 'bakery', { files: [FILE], preview: 'pr-4' }),
  },
  'finalize a preview': {
    changes: ['bakery', 'blobs'],
    run: (node) => finalize(node, by(ANN), 'bakery', { versionId: PREVIEW_UPDATE }),
  },
  'finalize a new preview': {
    changes: ['bakery', 'blobs'],
    run: (node) => finalize(node, by(ANN), 'bakery', { versionId: NEW_PREVIEWS[0] }),
  },
  'finalize another new preview': {
    changes: ['bakery', 'blobs'],
    run: (node) => finalize(node, by(ANN), 'bakery', { versionId: NEW_PREVIEWS[1] }),
  },
  'promote a preview': {
    changes: ['bakery'],
    run: ({ previews }) => previews.promote(ANN, 'bakery', 'pr-1', PREVIEW),
  },
  'delete a preview': {
    changes: ['bakery', 'blobs'],
    run: ({ previews }) => previews.remove(ANN, 'bakery', 'pr-1'),
  },
  // Reviews
  'comment on a preview': {
    changes: ['bakery', 'notices'],
    run: ({ reviews }) =>
      reviews.createThread(reviewer(BOB), REVIEWED, { versionId: PREVIEW, place: PLACE, text: 'a' }),
  },
  'reply to a thread': {
    changes: ['bakery', 'notices'],
    run: ({ reviews }) => reviews.addToThread(reviewer(BOB), REVIEWED, THREAD, { text: 'a' }),
  },
  'request changes of a preview': {
    changes: ['bakery', 'notices'],
    run: ({ reviews }) =>
      reviews.decide(reviewer(BOB), REVIEWED, { versionId: PREVIEW, decision: 'changes-requested' }),
  },
  'report the places of threads': {
    changes: ['bakery'],
    run: ({ reviews }) =>
      reviews.reportPlacements(reviewer(BOB), REVIEWED, {
        versionId: PREVIEW,
        placed: [],
        missing: [THREAD],
      }),
  },
  'create a review link': {
    changes: ['bakery'],
    run: ({ reviews }) => reviews.createLink(reviewer(ANN), REVIEWED, {}),
  },
  'revoke a review link': {
    changes: ['bakery'],
    run: ({ reviews }) => reviews.revokeLink(reviewer(ANN), REVIEWED, 'link 0'),
  },
  // Versions
  restore: {
    changes: ['bakery'],
    run: ({ versions }) => versions.restore(ANN, 'bakery', PREVIOUS),
  },
  'restore by a collaborator': {
    changes: ['bakery'],
    run: ({ versions }) => versions.restore(BOB, 'bakery', DRAFT),
  },
  'delete a version': {
    changes: ['bakery', 'blobs', 'usage'],
    run: ({ versions }) => versions.remove(by(ANN), 'bakery', PREVIOUS),
  },
  'put a thumbnail': {
    changes: ['bakery'],
    run: ({ thumbnails }) =>
      thumbnails.put(by(ANN), { slug: 'bakery', versionId: PREVIOUS }, webp(640, 400), async () => undefined),
  },
  precompress: {
    changes: ['bakery', 'blobs'],
    isDivisible: true,
    async run({ precompressor }) {
      Precompressor.prototype.enqueue.call(precompressor, 'bakery', LIVE)
      await precompressor.onIdle()
    },
  },
  // Sites
  'change metadata': {
    changes: ['bakery'],
    isDivisible: true,
    run: ({ sites }) => sites.updateMetadata(ANN, 'bakery', { title: 'A new title', ttlSeconds: null }),
  },
  duplicate: {
    changes: ['blobs', 'usage'],
    reads: ['bakery', 'ann'],
    run: ({ sites }) => sites.duplicate(by(ANN), 'bakery'),
  },
  claim: {
    changes: ['anon', 'usage'],
    reads: ['ann'],
    run: ({ sites }) => sites.claim(ANN, 'anon', { claimToken: CLAIM_TOKEN }),
  },
  'claim by another account': {
    changes: ['anon'],
    run: ({ sites }) => sites.claim(CAT, 'anon', { claimToken: CLAIM_TOKEN }),
  },
  'rename to a name': {
    changes: ['bakery', 'the name', 'renames'],
    run: ({ names }) => names.rename(ANN, 'bakery', 'chosen'),
  },
  'rename another site': {
    changes: ['cafe', 'renames'],
    run: ({ names }) => names.rename(ANN, 'cafe', 'coffee'),
  },
  'rename to the same name': {
    changes: ['cafe', 'the name', 'renames'],
    run: ({ names }) => names.rename(ANN, 'cafe', 'chosen'),
  },
  'delete a site': {
    changes: ['bakery', 'shop.test', 'new.test', 'notices'],
    run: ({ trash }) => trash.remove(by(ANN), 'bakery'),
  },
  'delete a site permanently': {
    changes: ['bakery', 'shop.test', 'new.test', 'blobs', 'usage', 'reports'],
    run: ({ trash }) => trash.remove(by(ANN), 'bakery', { permanent: true }),
  },
  'delete a site without an owner': {
    changes: ['anon', 'blobs', 'usage'],
    run: ({ trash }) => trash.remove(ANONYMOUS, 'anon', { claimToken: CLAIM_TOKEN }),
  },
  'restore from the trash': {
    changes: ['trashed', 'domains of ann'],
    reads: ['ann'],
    run: ({ trash }) => trash.undelete(ANN, 'trashed'),
  },
  'delete from the trash': {
    changes: ['trashed', 'blobs'],
    run: ({ trash }) => trash.remove(by(ANN), 'trashed', { permanent: true }),
  },
  'add a collaborator': {
    changes: ['bakery', 'invitations'],
    run: ({ collaborators }) => collaborators.add(ANN, 'bakery', 'one-more@example.test'),
  },
  'add another collaborator': {
    changes: ['bakery', 'invitations'],
    run: ({ collaborators }) => collaborators.add(ANN, 'bakery', 'two-more@example.test'),
  },
  'add a collaborator to another site': {
    changes: ['cafe', 'invitations'],
    run: ({ collaborators }) => collaborators.add(ANN, 'cafe', 'one-more@example.test'),
  },
  'remove a collaborator': {
    changes: ['bakery'],
    run: ({ collaborators }) => collaborators.remove(ANN, 'bakery', BOB.email),
  },
  // Domains
  'add a domain': {
    changes: ['domains of ann'],
    reads: ['cafe', 'ann'],
    run: ({ domains }) => domains.add(ANN, 'one.test', 'cafe'),
  },
  'add another domain': {
    changes: ['domains of ann'],
    reads: ['bakery', 'ann'],
    run: ({ domains }) => domains.add(ANN, 'two.test', 'bakery'),
  },
  'remove an active domain': {
    changes: ['domains of ann', 'shop.test'],
    run: ({ domains }) => domains.remove(ANN, 'shop.test'),
  },
  'check a domain': {
    changes: ['new.test'],
    reads: ['bakery'],
    isDivisible: true,
    run: ({ domains }) => domains.check(ANN, 'new.test'),
  },
  'check the domain of another account': {
    changes: ['new.test'],
    isDivisible: true,
    run: ({ domains }) => domains.check(CAT, 'new.test'),
  },
  'check an active domain': {
    changes: ['shop.test'],
    reads: ['bakery'],
    isDivisible: true,
    run: ({ domains }) => domains.check(ANN, 'shop.test'),
  },
  // Certificates
  'issue a certificate': {
    changes: ['shop.test', 'orders'],
    isDivisible: true,
    run: ({ issuing }) => new Issuance(issuing).process('shop.test', 0),
  },
  'issue a certificate of a site': {
    changes: ['orders'],
    isDivisible: true,
    run: ({ issuing }) => new Issuance(issuing).process('bakery.sites.test', 0),
  },
  'issue a certificate of another site': {
    changes: ['orders'],
    isDivisible: true,
    run: ({ issuing }) => new Issuance(issuing).process('cafe.sites.test', 0),
  },
  'retry a certificate': {
    changes: ['orders'],
    run: ({ certificates }) => certificates!.retry('failed.test'),
  },
  'update renewal information': {
    changes: ['shop.test'],
    run: async ({ issuing }) =>
      refreshRenewalInfo(issuing, await issuing.store.read.certificates.summaries(['shop.test'])),
  },
  'request certificates of sites': {
    changes: ['orders'],
    reads: ['cafe'],
    run: ({ issuing }) => requestSiteCertificates(issuing),
  },
  'maintain certificates': {
    changes: ['shop.test', 'orders'],
    isDivisible: true,
    run: ({ issuing }) => maintain(issuing, true),
  },
  'encrypt keys again': {
    changes: ['shop.test'],
    isDivisible: true,
    run: ({ issuing }) =>
      reencryptKeys({ ...issuing, secretBox: new SecretBox(['a new secret of thirty-two letters', SECRET]) }),
  },
  'present a challenge': {
    changes: ['shop.test'],
    isDivisible: true,
    async run({ issuing }) {
      const solver = createChallengeSolver(issuing, { types: ['http-01'], onPresent: () => undefined })
      const challenge = { type: 'http-01', name: 'shop.test', token: 't', keyAuthorization: 't.k' } as const
      await solver.present(challenge)
      await solver.remove(challenge)
    },
  },
  // Accounts
  'request a code': {
    changes: ['codes'],
    run: ({ accounts }) => accounts.requestCode(ANN.email, CLIENT),
  },
  'sign in with the code': {
    changes: ['codes', 'keys'],
    reads: ['ann'],
    run: ({ accounts }) => accounts.verifyCode({ email: ANN.email, code: CODE, attempt: ATTEMPT }, CLIENT),
  },
  'sign in with a named key': {
    changes: ['codes', 'keys'],
    reads: ['ann'],
    run: ({ accounts }) =>
      accounts.verifyCode({ email: ANN.email, code: CODE, attempt: ATTEMPT, keyName: 'a new key' }, CLIENT),
  },
  'open a session': {
    changes: ['codes', 'sessions'],
    reads: ['ann'],
    run: ({ accounts }) =>
      accounts.openSession(
        { email: ANN.email, code: CODE, attempt: ATTEMPT },
        { ...CLIENT, userAgent: undefined },
      ),
  },
  'try a wrong code': {
    changes: ['codes'],
    run: ({ accounts }) =>
      accounts.verifyCode({ email: ANN.email, code: 'WXYZ-WXYZ', attempt: ATTEMPT }, CLIENT),
  },
  'renew the key': { changes: ['keys'], reads: ['ann'], run: ({ accounts }) => accounts.renewKey(ANN) },
  'create a key': {
    changes: ['keys'],
    reads: ['ann', 'bakery'],
    run: ({ namedKeys }) => namedKeys.create(by(ANN), { name: 'ci', scope: 'publish', sites: ['bakery'] }),
  },
  'create a key of a collaborator': {
    changes: ['keys'],
    reads: ['bakery'],
    run: ({ namedKeys }) => namedKeys.create(by(BOB), { name: 'ci', scope: 'publish', sites: ['bakery'] }),
  },
  'mark an administrator': {
    changes: ['administrators'],
    run: ({ administrators }) => administrators.set(COMMAND_LINE, CAT.email, true),
  },
  'remove an administrator': {
    changes: ['administrators', 'keys'],
    run: ({ administrators }) => administrators.set(auditActor(by(BOB)), ANN.id, false),
  },
  'remove another administrator': {
    changes: ['administrators'],
    run: ({ administrators }) => administrators.set(auditActor(by(ANN)), BOB.id, false),
  },
  'ask for a device': {
    changes: ['devices'],
    run: ({ deviceSignIns }) =>
      deviceSignIns.start({ clientId: 'c', program: 'p', machine: 'm', scope: 'read', address: '192.0.2.1' }),
  },
  'allow a device': {
    changes: ['devices', 'counters'],
    run: ({ deviceSignIns }) => deviceSignIns.decide(ANN, CODE, { allowed: true, allowedBy: hashToken(KEY) }),
  },
  'fetch the key of a device': {
    changes: ['devices', 'keys'],
    reads: ['ann'],
    run: ({ deviceSignIns }) =>
      deviceSignIns.exchange({ clientId: DEVICE_CLIENT, deviceCode: DEVICE_CODE }, async () => undefined),
  },
  'trust a repository': {
    changes: ['trusts'],
    reads: ['ann', 'bakery'],
    run: ({ trusts }) =>
      trusts.create(ANN, { forge: 'github', repository: 'ann/site', site: 'bakery', branch: 'main' }),
  },
  'exchange a token': {
    changes: ['trusts', 'keys'],
    reads: ['ann', 'bakery'],
    run: ({ trusts }) => trusts.issueKey(ID_TOKEN, 'bakery'),
  },
  'remove a trust': {
    changes: ['trusts', 'keys'],
    run: ({ trusts }) => trusts.remove(ANN, 'a trust'),
  },
  'revoke a key': {
    changes: ['keys'],
    run: ({ namedKeys }) => namedKeys.revoke(ANN, NAMED_KEY_HASH.slice(0, 16)),
  },
  'end the key': { changes: ['keys'], run: ({ accounts }) => accounts.endKey(ANN, hashToken(KEY)) },
  'turn reminders off': {
    changes: ['ann'],
    run: ({ accounts }) => accounts.changeNotices(ANN, { reminders: false }),
  },
  'invite an address': {
    changes: ['invited'],
    run: ({ invitations }) => invitations.invite(COMMAND_LINE, 'new@example.test'),
  },
  'end an invitation': {
    changes: ['invited'],
    async run({ invitations }) {
      await invitations.invite(COMMAND_LINE, 'new@example.test')
      await invitations.revoke(COMMAND_LINE, 'new@example.test')
    },
    isDivisible: true,
  },
  'set the banner': {
    changes: ['banner'],
    run: ({ banners }) => banners.set(COMMAND_LINE, { text: 'Maintenance' }),
  },
  'remove the banner': { changes: ['banner'], run: ({ banners }) => banners.clear(COMMAND_LINE) },
  'set the plan': {
    changes: ['ann'],
    run: ({ administrators }) =>
      administrators.setPlan(COMMAND_LINE, ANN.id, { plan: 'hobby', limits: { sites: 7 } }),
  },
  'end a session': {
    changes: ['sessions'],
    run: ({ sessions }) => sessions.end(ANN, sessionId(SESSION)),
  },
  'end all sessions': { changes: ['sessions'], run: ({ sessions }) => sessions.endOthers(ANN, undefined) },
  'sign out': { changes: ['sessions'], run: ({ sessions }) => sessions.close(SESSION) },
  'end the access of a program': {
    changes: ['programs'],
    run: ({ programs }) => programs.revoke(ANN, PROGRAM.slice(0, 16)),
  },
  'delete the account': {
    changes: [
      'ann',
      'keys',
      'programs',
      'trusts',
      'sessions',
      'codes',
      'domains of ann',
      'bakery',
      'cafe',
      'trashed',
      'expired',
      'invitations',
      'counters',
      'notices',
      'reports',
      'administrators',
    ],
    isDivisible: true,
    run: ({ accountDeletion }) => accountDeletion.deleteAccount(ANN, ANN.email),
  },
  charge: {
    changes: ['counters'],
    run: ({ limits }) => limits.charge(by(ANN), 'api'),
  },
  // Background
  ...sweepCalls({
    'expired-sites': ['expired', 'blobs', 'usage'],
    usage: ['usage'],
    trash: ['trashed', 'blobs'],
    leaving: ['leaving'],
    abandoned: ['unfinished', 'cafe'],
    'old-versions': ['bakery', 'blobs'],
    uploads: ['blobs'],
    blobs: ['blobs'],
    unnamed: ['blobs'],
    programs: ['programs'],
    'sign-ins': ['codes', 'counters', 'devices', 'keys', 'sessions', 'trusts'],
    'audit-log': ['administrators'],
    figures: ['figures'],
    'held-domains': ['domains of ann'],
    'former-names': ['cafe', 'renames'],
    emails: ['notices', 'ann'],
  }),
  'prune visits': {
    changes: ['visits'],
    isDivisible: true,
    run: ({ store }) => pruneVisits({ store, clock: store.clock }),
  },
  'record visits': {
    changes: ['visits'],
    reads: ['bakery'],
    isDivisible: true,
    async run({ store }) {
      await using recorder = new VisitRecorder({ store, clock: store.clock, log: silentLog })
      const counts = recorder.site('bakery')!
      counts.requests++
      counts.addVisitor('a visitor')
      counts.name('path', '/')!.requests++
    },
  },
  'try a password': {
    changes: ['counters'],
    run: ({ store }) =>
      new AttemptLimiter({ store, clock: store.clock, secret: SECRET }).begin('192.0.2.7', 'bakery'),
  },
  ...MODERATION_CALLS,
  'share ticket keys': {
    changes: ['ticket keys'],
    run: ({ issuing }) => new TicketKeys(issuing).refresh(),
  },
}

const ANONYMOUS: Caller = { account: undefined, address: '192.0.2.8', signedInWith: 'anonymous' }

function staged(slug: string, versionId: string, isNew: boolean): StagedVersion {
  const rest = {
    files: [],
    skipped: new Set<number>(),
    expiresAt: null,
    anonymous: undefined,
    removal: undefined,
    changes: undefined,
  }
  return { slug, versionId, isNew, ...rest }
}

/** Finalizes without the work that follows the response. */
async function finalize(node: Node, caller: Caller, slug: string, request: FinalizeRequest): Promise<void> {
  node.versions.prune = async () => 0
  await node.finalizer.finalize(caller, slug, request)
}
