// biome-ignore-all lint/suspicious/noTemplateCurlyInString: rows quote source text

/** One way to break a promise. */
export interface Mutation {
  /** What the mutated service does, which no test may accept. */
  breaks: string
  file: string
  /** Text that occurs exactly once in the file, and what takes its place. */
  find: string
  replace: string
  /** Test files of which at least one must fail. */
  tests: readonly string[]
}

type Row = [breaks: string, file: string, find: string, replace: string, ...tests: string[]]

const BACKUP = 'test/backup/backup.test.ts'
const QUOTAS = 'test/api/quotas.test.ts'
const UPLOADS = 'test/api/uploads.test.ts'
const TARGETS = 'test/api/upload-targets.test.ts'
const FINALIZE = 'test/api/finalize.test.ts'
const SIGN_IN = 'test/api/sign-in.test.ts'
const KEYS = 'test/api/keys.test.ts'
const ADMIN = 'test/api/admin.test.ts'
const DEVICE = 'test/api/device.test.ts'
const TRUSTS = 'test/api/trusts.test.ts'
const RATES = 'test/api/rate-limits.test.ts'
const MANIFEST = 'test/api/publish.test.ts'
const EDGE = 'test/edge/edge.test.ts'
const ABUSE = 'test/edge/abuse.test.ts'
const MODERATION = 'test/api/moderation.test.ts'
const EDGE_CACHE = 'test/edge/cache.test.ts'
const LOADING_CACHE = 'test/lib/loading-cache.test.ts'
const PASSWORD = 'test/edge/password.test.ts'
const COLLABORATORS = 'test/api/collaborators.test.ts'
const TRASH = 'test/api/trash.test.ts'
const PREVIEWS = 'test/api/previews.test.ts'
const NETWORK = 'test/database-faults/network.test.ts'
const FAILOVER = 'test/database-faults/failover.test.ts'
const HEADERS = 'test/rules/headers-parse.test.ts'
const OAUTH = 'test/mcp/oauth.test.ts'
const MCP_TOOLS = 'test/mcp/tools.test.ts'
const PROXY_PROTOCOL = 'test/proxies/proxy-protocol.test.ts'

// biome-ignore format: one row per mutation
const ROWS: readonly Row[] = [
  // Pages for visitors
  ['shows every visitor English pages', 'server/edge/respond/pages/language.ts', 'best = language as Language', '', EDGE],
  ['shows a language that the visitor excludes', 'server/edge/respond/pages/language.ts', 'let highest = 0', 'let highest = -1', EDGE],
  ['sends the title of a link preview unescaped', 'server/edge/respond/pages/error-pages.ts', '<title>${title}</title>', '<title>${new Html(title)}</title>', PASSWORD],
  // Abuse
  ['serves a blocked file', 'server/edge/build-response.ts', 'if (match.isBlocked) return', 'if (false) return', ABUSE],
  ['shows a blocked file as the page for unknown paths', 'server/edge/build-response.ts', '!match.page || match.page.isBlocked', '!match.page', ABUSE],
  ['serves sites of a suspended account', 'server/store/queries/serving.ts', 'site.suspension ?? parseSuspension(row.owner_suspension)', 'site.suspension', ABUSE],
  ['ends certificates of suspended sites', 'server/edge/edge.ts', "['redirect', 'suspended']", "['redirect']", ABUSE],
  ['shows the reason of a suspension to visitors', 'server/edge/resolve/site-resolver.ts', '#suspended({ publicReason }: Suspension)', '#suspended({ reason: publicReason }: Suspension)', ABUSE],
  ['lets a publisher name another form for reports', 'server/edge/respond/policy.ts', '[REPORT_HEADER.toLowerCase(), ', '[', ABUSE],
  ['lets a form of another site skip the notice', 'server/edge/anonymous-notice.ts', "if (site !== 'same-origin')", 'if (false)', ABUSE],
  ['keeps anonymous pages behind a notice in shared caches', 'server/edge/respond/policy.ts', "policy.cacheControl.replace('public', 'private')", 'policy.cacheControl', ABUSE],
  ['lets the owner of a suspended site publish', 'server/accounts/authorization.ts', 'if (!RIGHTS_WHILE_SUSPENDED.has(right)) await', 'if (false) await', MODERATION],
  ['lets a suspended account publish', 'server/api/auth.ts', '!isAllowedWhileSuspended(request) && caller.account', 'false && caller.account', MODERATION],
  ['shows a collaborator why the owner is suspended', 'server/accounts/authorization.ts', 'if (owner?.suspension)', 'if (owner?.suspension) throw siteSuspended(owner.suspension)\n  if (owner?.suspension)', MODERATION],
  ['accepts requests of a blocked network', 'server/api/auth.ts', "if (access !== 'admin') await options.blocklist", "if (false) await options.blocklist", MODERATION],
  ['accepts a blocked file whose hash was not declared', 'server/publish/finalize.ts', 'await blocklist.assertFiles(whole)', '', MODERATION],
  ['keeps serving a blocked file from a cache', 'server/operations/moderation/blocks.ts', "if (kind !== 'hash') return", 'return', MODERATION],
  ['blocks the network of the operator who blocks', 'server/operations/moderation/blocks.ts', 'new NetworkSet([network]).has(ownAddress)', 'false', MODERATION],
  ['keeps all reports of a site', 'server/operations/moderation/reports.ts', '.slice(0, MAX_LATEST)', '', MODERATION],
  ['accepts any number of reports of a network', 'server/operations/moderation/reports.ts', 'if (count <= MAX_PER_HOUR) return', 'return', MODERATION],
  ['sends an email about each report', 'server/operations/moderation/reports.ts', 'const EMAIL_INTERVAL_MS = HOUR_MS', 'const EMAIL_INTERVAL_MS = 0', MODERATION],
  // Tools for programs
  ['lets a page of another origin use a service of this machine', 'server/api/mcp/mcp.ts', '(URL.canParse(origin) && isLoopbackUrl(origin))', 'true', MCP_TOOLS],
  ['runs any number of calls of one message', 'server/api/mcp/mcp.ts', 'if (Array.isArray(body))', 'if (body === null)', MCP_TOOLS],
  ['does not limit the calls of a program at the same time', 'server/api/mcp/mcp.ts', 'perKey: 8', 'perKey: 9', 'test/mcp/tools.test.ts'],
  ['continues to count a call that its program cancelled', 'server/api/mcp/mcp.ts', "reply.raw.once('close', () => call.abort())", '', 'test/mcp/tools.test.ts'],
  ['normalizes the path of a call, which then has another route', 'server/api/internal-requests.ts', 'isFinished: true, url }', 'isFinished: true }', MCP_TOOLS],
  ['lets a link authorize the program of its sender', 'server/accounts/oauth/programs.ts', 'cookie !== undefined && constantTimeEqual(cookie, id)', 'true', OAUTH],
  ['accepts a code or token any number of times', 'server/accounts/oauth/oauth-records.ts', 'if (!isFirst) throw alreadyUsed()', '', OAUTH],
  ['stores codes and tokens', 'server/accounts/oauth/oauth-records.ts', 'const { jti: _, ...rest } = payload', 'const rest = payload', OAUTH],
  ['accepts a token of a program for another resource', 'server/accounts/oauth/programs.ts', 'if (aud !== resource) return undefined', '', OAUTH],
  ['stores registrations of any size', 'server/api/oauth.ts', 'redirect_uris: isStorable(uris) ? uris : [],', '', OAUTH],
  ['lets a program add tokens without a limit', 'server/api/oauth.ts', 'if (route === OAUTH_ROUTES.token)', 'if (false)', OAUTH],
  ['keeps used refresh tokens for their whole lifetime', 'server/store/queries/oauth.ts', ".then(until)", ".then(e.ref('expires_at'))", OAUTH],
  ['accepts a token that was saved after its access ended', 'server/store/queries/oauth.ts', ".where((e) => e.exists(this.#valid(now).where('id_hash', '=', record.grantHash)))", '', OAUTH],
  ['accepts tokens of programs for the whole API', 'server/api/auth.ts', 'request.routeOptions.config.programs && !isApiKey(value)', '!isApiKey(value)', OAUTH],
  ['lets a program do more than its user allowed', 'server/accounts/oauth/programs.ts', 'scope: widest(scope), sites: null', "scope: 'manage', sites: null", OAUTH],
  ['fetches addresses of a registration', 'server/api/oauth.ts', '...Object.fromEntries(CLIENT_FIELDS.map((name) => [name, shorten(given[name])])),', '...given,', OAUTH],
  ['lets a program overwrite a version without showing whose it is', 'server/api/mcp/tool-server.ts', 'account ? await describeConflict(error, args, api) : error', 'error', MCP_TOOLS],
  // Emails and certificates of single sites
  ['queues more sites for certificates than the budget allows', 'server/certificates/maintenance.ts', 'if (!(await hasRoom(tx, { accountId: SITES_SHARE, root: domain, maxOfRoot: perWeek }, now))) return', '', 'test/certificates/budget.test.ts'],
  ['serves certificates of deleted sites', 'server/store/queries/certificates.ts', ".where('slug', '=', slug).where('gone_at', 'is', null)", ".where('slug', '=', slug)", 'test/tls/service.test.ts'],
  ['sends two emails about one event', 'server/operations/notices/notices.ts', 'await tx.notices.schedule(id, { attempts: attempts + 1, dueAt: null })', '', 'test/operator/sweeps.test.ts'],
  ['signs in by a link in any browser', 'dashboard/sign-in/link-sign-in.tsx', 'if (!requested)', 'if (false)', 'test/dashboard/sign-in.test.ts'],

  // Several nodes on PostgreSQL
  ['locks the rows of visits in any order', 'server/store/queries/visits.ts', 'inLockOrder(sites.filter(({ slug }) => existing.has(slug)))', 'sites.filter(({ slug }) => existing.has(slug))', 'test/store/postgres.test.ts'],
  ['uses the clock of the node', 'server/store/postgres/postgres.ts', 'clock: () => feed.now(),', 'clock: Date.now,', 'test/store/clocks.test.ts'],
  ['lets a paused job write after its successor', 'server/jobs/job-lease.ts', 'if (!(await tx.leases.extend(this.#renewed()))) throw', 'if (!(await tx.leases.extend(this.#renewed())) && false) throw', 'test/store/sqlite.test.ts'],
  ['checks a domain that another node checks', 'server/store/queries/domains.ts', 'set({ checking_until: until })', 'set({ checking_until: now })', 'test/store/sqlite.test.ts'],
  ['begins a write without its locks', 'server/store/postgres/writer.ts', '...locks.map((key) => `select pg_advisory_xact_lock(${key})`)', '', 'test/store/postgres.test.ts'],
  ['scans all notices for each failing domain', 'server/store/queries/notices.ts', "'domain-fails ' || domains.account_id", "'domain-fails ' || account_id", 'test/store/query-plans.test.ts'],
  ['searches strays in all arrivals', 'server/store/migrations/018-failures-and-strays.ts', "  { name: 'arrivals_by_object', on: 'arrivals (object)' },", '', 'test/store/query-plans.test.ts'],
  ['cuts the names of certificates to a negative length', 'server/store/queries/certificates.ts', 'abs(length(certificates.name)', '(length(certificates.name)', 'test/store/postgres.test.ts'],
  ['deletes a site without naming its domains', 'server/domains/site-domains.ts', '{ ...scope, host }', 'scope', 'test/interleaving/interleaving.test.ts'],
  ['accepts an archive whose first files may be deleted', 'server/publish/archive-upload.ts', 'if (clock() > endsAt) throw tooLong()', '', 'test/api/archives.test.ts'],
  ['records uploads beside a finalize', 'server/publish/upload-recorder.ts', "write('relaxed', scope,", "write('relaxed', {},", 'test/interleaving/interleaving.test.ts'],
  ['leaves a transaction behind that could not take its locks', 'server/store/postgres/writer.ts', 'await connection.query({ text: \'rollback\' }, readTimeoutMs).catch(() => undefined)', '', 'test/store/postgres.test.ts'],
  ['reads changes by the number of the transaction', 'server/store/postgres/change-feed.ts', 'not pg_visible_in_snapshot(xid, $1::pg_snapshot)', 'xid >= pg_snapshot_xmax($1::pg_snapshot)', 'test/store/postgres.test.ts'],
  ['writes without a transaction', 'server/store/postgres/writer.ts', "    'begin',\n", '', NETWORK],
  ['leaves queries behind in the server when their time is up', 'server/store/postgres/client.ts', 'if (query.isCancelable) this.#cancel()', '', NETWORK],
  ['skips a change whose commit was not answered', 'server/store/postgres/writer.ts', 'if (xid !== undefined && !feed.removeOwn(xid))', 'if (xid !== undefined && feed.removeOwn(xid))', NETWORK],
  ['repeats a commit that was not answered', 'server/store/postgres/writer.ts', 'if (!isRepeatable(error) || attempt === MAX_ATTEMPTS) throw error', 'if (attempt === MAX_ATTEMPTS) throw error', NETWORK],
  ['counts connections that the server ended', 'server/store/postgres/pool.ts', 'this.#open.delete(client)', '', NETWORK],
  ['waits for one silent host of several', 'server/store/postgres/pool.ts', 'await Promise.race([failed, pause(NEXT_HOST_DELAY_MS, undefined, { ref: false })])', 'await failed', NETWORK],
  ['prepares a statement behind a transaction pooler', 'server/store/postgres/change-feed.ts', "...(connection.isSession && { name: 'changes' })", "name: 'changes'", 'test/store/pgbouncer.test.ts'],
  ['ignores changes with the ids of own transactions that a crash lost', 'server/store/postgres/change-feed.ts', 'this.#own.clear()', 'undefined', 'test/store/postgres.test.ts'],
  ['locks blobs in the order of the files', 'server/store/queries/blobs.ts', '.sort((one, other) => (one.hash < other.hash ? -1 : 1))', '', 'test/store/postgres.test.ts'],
  ['expects new transaction ids of a server that crashed', 'server/store/postgres/change-feed.ts', 'const isSame = row.epoch !== null && row.epoch === this.#epoch', 'const isSame = true', FAILOVER],
  ['reports a commit as done that is not replicated', 'server/store/postgres/client.ts', 'if (this.#isReplicationCanceled) throw', 'if (false) throw', FAILOVER],
  ['commits durable writes without the standby', 'server/store/postgres/writer.ts', "return durability === 'durable' ? 'on' : 'off'", "return 'off'", FAILOVER],
  ['reports a full disk of PostgreSQL as an outage', 'server/store/postgres/errors.ts', 'if (state === DISK_FULL) throw diskFull(error)', '', 'test/database-faults/full-disk.test.ts'],
  ['stops writes while it builds a large index', 'server/store/postgres/migrate.ts', "createIndex(index, 'concurrently')", 'createIndex(index)', 'test/store/migrations.test.ts'],
  ['keeps an index whose build was interrupted', 'server/store/postgres/migrate.ts', 'if (built?.valid) continue', 'if (built) continue', 'test/store/migrations.test.ts'],
  ['migrates on several nodes at the same time', 'server/store/postgres/migrate.ts', 'return rows[0]!.locked', 'return rows.length > 0', 'test/store/migrations.test.ts'],
  ['starts beside a schema that excludes it', 'server/store/migrate.ts', 'compatibility === undefined || !known.has(compatibility.oldest)', 'compatibility === undefined', 'test/store/migrations.test.ts'],
  ['refuses what the secret before signed', 'server/lib/tokens.ts', 'const signatures = this.#keys.map(', 'const signatures = this.#keys.slice(0, 1).map(', 'test/operator/secret-rotation.test.ts'],
  ['refuses upload targets of the secret before', 'server/lib/tokens.ts', 'return this.#keyIds.includes(id)', 'return this.keyId === id', 'test/operator/secret-rotation.test.ts'],
  ['discards lost keys without a request', 'server/certificates/reencrypt-keys.ts', 'if (discardsLostKeys && ', 'if (', 'test/operator/secret-rotation.test.ts'],
  ['starts with another secret than the other nodes', 'server/operations/fleet/shared-settings.ts', '!accepted.includes(one.fingerprint)', 'accepted.length === 0', 'test/fleet/shared-settings.test.ts'],
  ['ends when the database is unreachable', 'server/operations/fleet/wait-for-database.ts', 'if (!isTemporary(error)) throw error', 'throw error', 'test/fleet/start.test.ts'],
  ['lists nodes that have stopped', 'server/operations/fleet/node-reporter.ts', 'nodes.remove(this.#id)', "nodes.remove('')", 'test/fleet/start.test.ts'],
  ['finds nothing wrong with settings of another fleet', 'server/operations/check/check.ts', 'different.length > 0', 'different.length > 9', 'test/fleet/check.test.ts'],
  ['finds nothing wrong with a missing standby', 'server/store/postgres/inspect.ts', "await client.query('set local synchronous_commit = on')", "await client.query('set local synchronous_commit = off')", 'test/fleet/check.test.ts'],
  ['checks the site domain instead of its wildcard', 'server/operations/check/check.ts', '`${label}.${siteDomain}`', 'siteDomain', 'test/fleet/check.test.ts'],
  ['accepts titles that PostgreSQL cannot store', 'server/sites/site-metadata.ts', "text.isWellFormed() && !text.includes('\\0')", 'true', 'test/api/metadata.test.ts'],

  // Behind a balancer
  ['accepts a PROXY protocol header from any peer', 'server/net/proxy-protocol.ts', "if (!this.#isTrusted(socket.remoteAddress)) return void this.#refuse(socket, 'peer')", '', PROXY_PROTOCOL],
  ['waits forever for a PROXY protocol header', 'server/net/proxy-protocol.ts', "setTimeout(() => this.#refuse(socket, 'slow'), headerTimeoutMs)", 'undefined', PROXY_PROTOCOL],
  ['gives visitors over HTTPS the address of the balancer', 'server/net/tls/tls-acceptor.ts', 'inheritClient(socket, raw)', '', PROXY_PROTOCOL],
  ['closes its ports before balancers have noticed that it stops', 'server/app.ts', 'await pause(readySeconds * 1000)', '', 'test/operator/commands.test.ts', 'test/operator/signals.test.ts'],
  ['is ready while it stops', 'server/app.ts', 'isReady: () => !isStopping', 'isReady: () => true', 'test/operator/signals.test.ts'],
  ['reads PROXY protocol headers of any size', 'server/net/proxy-protocol.ts', "if (length > MAX_V2_BYTES) return 'oversized'", '', PROXY_PROTOCOL],

  // Uploads (contract, "Publish")
  ['accepts an upload target with a wrong signature', 'server/publish/signed-uploads.ts', 'this.#signer.verify(fields, signature)', 'this.#signer.verify(fields, signature) !== undefined', UPLOADS, TARGETS],
  ['accepts an upload target after its expiry', 'server/publish/signed-uploads.ts', 'if (this.#clock() / 1000 < expires) return', 'if (expires) return', UPLOADS],
  ['does not sign the content type of an upload', 'server/publish/signed-uploads.ts', "return ['file', slug, versionId, path, ...claims, contentType, expires]", "return ['file', slug, versionId, path, ...claims, expires]", UPLOADS, TARGETS],
  ['signs the fields of a text without their lengths', 'server/lib/tokens.ts', 'return JSON.stringify(fields)', "return fields.join('\\n')", 'test/lib/signed-fields.test.ts'],
  ['records an upload whose size is not in the manifest', 'server/publish/pending-manifest-cache.ts', 'if (this.#sizes[fileNumber] !== size) return false', '', TARGETS],
  ['accepts an upload with another content type', 'server/publish/publish.ts', 'if (!isSameMediaType(headers.contentType, upload.contentType)) {', 'if (false) {', UPLOADS],
  ['lets two uploads of one file run at the same time', 'server/publish/publish.ts', 'using _slot = this.#slots.take(upload, active)', '', UPLOADS],

  // Contents in the request
  ['publishes secrets whose contents are in the request', 'server/publish/archive/content.ts', 'if (budget.excludeByName(path, bytes.length) || budget.excludeEmpty(path, bytes.length)) continue', 'if (budget.excludeEmpty(path, bytes.length)) continue', 'test/api/contents.test.ts'],
  ['does not report the files that an archive removes', 'server/publish/archive-upload.ts', '...(staged.removal && { removal: staged.removal }),', '', 'test/api/merge.test.ts'],
  ['keeps the claim token of a direct upload from its publisher', 'server/api/direct-upload.ts', 'if (answer.claimToken !== undefined)', 'if (false)', 'test/api/contents.test.ts'],
  ['documents examples with names in place of values', 'server/api/openapi-examples.ts', 'const known = VALUES[`${owner}.${name}`] ?? VALUES[name]', 'const known = undefined', 'test/api/openapi.test.ts'],
  ['takes a direct upload for a site of another account', 'server/api/direct-upload.ts', "name === '' || name.includes('.') ? undefined : name", 'undefined', 'test/api/contents.test.ts'],

  // The OpenAPI document
  ['sends the front page as text to crawlers', 'server/web/agent-files.ts', "if (accept.includes('text/html')) return false", '', 'test/api/documents.test.ts'],
  ['leaves HTML of a guide unescaped', 'scripts/reference/guides.ts', 'override html({ text }: Tokens.HTML | Tokens.Tag): string {\n    return escapeHtml(text)', 'override html({ text }: Tokens.HTML | Tokens.Tag): string {\n    return text', 'test/dashboard/pages.test.ts'],
  ['names no operation in the OpenAPI document', 'server/api/openapi.ts', 'operationId: id,', '', 'test/api/openapi.test.ts'],

  // Blobs (design, promises 1 to 4)
  ['acknowledges blobs that are not flushed', 'server/blobs/disk.ts', 'await handle.sync()', 'await handle.stat()', 'test/blobs/disk.test.ts'],
  ['does not flush the folder of a new blob', 'server/blobs/disk.ts', 'await flushShards(blobs.flatMap((blob) => (missing.has(blob) ? [] : blob.object)))', '', 'test/blobs/disk.test.ts'],
  ['does not flush the parent of a new folder of blobs', 'server/blobs/disk.ts', 'await flushFolder(folder)\n', '\n', 'test/blobs/disk.test.ts'],
  ['acknowledges after a failed flush', 'server/blobs/disk.ts', '      flushFailure = error\n      throw error', '      flushFailure = error', 'test/blobs/disk.test.ts'],
  ['trusts uploads to an earlier process', 'server/blobs/disk.ts', '(blob.object.endsWith(ownSuffix) || (await hashFile(handle)) === blob.hash)', 'true', 'test/blobs/disk.test.ts'],
  ['keeps bytes with another hash than declared', 'server/blobs/disk.ts', '  assertExpected(received, expected)\n  return received\n}', '  return received\n}', UPLOADS, 'test/blobs/disk.test.ts'],
  ['takes more bytes of a large file than declared', 'server/blobs/disk.ts', '      size += chunk.length\n      assertLength(size, expected)', '      size += chunk.length', UPLOADS, 'test/blobs/disk.test.ts'],
  ['writes into the disk reserve', 'server/blobs/disk-reserve.ts', 'if (this.#writableBytes < bytes) {', 'if (false) {', 'test/api/disk-reserve.test.ts'],
  ['leaves the database readable by the group', 'server/config/data-folder.ts', 'mode & 0o700', 'mode & 0o770', 'test/operator/file-modes.test.ts'],
  ['logs the addresses of users', 'server/mail/smtp.ts', 'maskEmail(email.to)', 'email.to', 'test/operator/smtp.test.ts'],
  ['sends a failed email again immediately', 'server/mail/smtp.ts', 'await pause(RETRY_DELAY_MS)', '', 'test/operator/smtp.test.ts'],
  ['deletes blobs within the grace time', 'server/jobs/jobs.ts', 'clock() - blobGrace * 1000', 'clock()', 'test/operator/sweeps.test.ts'],
  ['deletes blobs that another site references', 'server/store/queries/blobs.ts', "whereRef('blob_names.hash', '=', 'blobs.hash')", "where('slug', '=', '')", 'test/store/sqlite.test.ts', 'test/blobs/nodes.test.ts'],
  ['collects a blob that is referenced while the collector waits for its row', 'server/store/queries/blobs.ts', ".updateTable('blobs')\n      .set((e) => ({ unreferenced_since: e.ref('unreferenced_since') }))\n      .where('hash', 'in', candidates)\n      .where('unreferenced_since', '<=', before)\n      .returning('hash')", ".selectFrom(candidates.as('found')).select('hash')", 'test/blobs/nodes.test.ts'],
  ['deletes blobs that are referenced again', 'server/store/queries/blobs.ts', '  unreferenced_since: null,\n', '', 'test/store/sqlite.test.ts', 'test/store/postgres.test.ts'],
  ['fails a visit whose file another node has stored again', 'server/edge/edge.ts', 'if (!isReloaded && (await this.#isOutdated(content)))', 'if (false as boolean)', 'test/edge/replaced-objects.test.ts'],
  ['fails a read of a file that was stored again since its lookup', 'server/blobs/blob-reader.ts', 'return current && current.object !== location.object ? readAt(current) : undefined', 'return undefined', 'test/blobs/races.test.ts'],
  ['stores a blob under a name that was used before', 'server/blobs/object-names.ts', '${random.slice(prefix.length, 4)}-${now.toString(36).padStart(8, \'0\')}-${random.slice(4)}', '${random.slice(prefix.length, 4).replace(/./g, \'0\')}-${\'0\'.repeat(8)}-${\'0\'.repeat(12)}', 'test/blobs/races.test.ts'],
  ['references an upload that was replaced during finalize', 'server/publish/finalize.ts', 'taken.has(fileNumber) ? [] : [fileNumber]', '[]', 'test/blobs/races.test.ts'],
  ['replaces encodings that visitors may have cached', 'server/store/queries/blobs.ts', "const hashes = new Set(recorded.map(({ hash }) => hash))", 'const hashes = new Set(batch.map(({ hash }) => hash))', 'test/store/sqlite.test.ts'],
  ['invalidates caches with every turn of the encodings of a version', 'server/publish/precompress/precompressor.ts', ' && work.nextBytes === undefined', '', 'test/precompress/precompressor.test.ts'],
  ['acknowledges commits that are not flushed', 'server/store/sqlite.ts', "wanted === 'durable' ? 'FULL'", "wanted === 'durable' ? 'NORMAL'", 'test/store/sqlite.test.ts'],

  // Titles and thumbnails
  ['shows the thumbnail of a site with a password to others', 'server/sites/thumbnails.ts', 'if (!isShown) throw siteNotFound()', '', 'test/api/versions.test.ts'],
  ['stores a thumbnail without a right to publish', 'server/sites/thumbnails.ts', 'await requirePublisher(store.read, caller, { slug, claimToken, now: clock() })', '', 'test/api/versions.test.ts'],
  ['stores thumbnails of any size', 'server/sites/webp.ts', "if (!isBounded) throw", "if (false) throw", 'test/api/versions.test.ts'],
  ['takes an icon of another host', 'server/sites/page-metadata/document-summary.ts', 'if (url?.origin !== SITE_ORIGIN) return undefined', 'if (!url) return undefined', 'test/api/metadata.test.ts'],
  ['draws thumbnails without the style sheets of the site', 'dashboard/thumbnail/still-document.ts', 'return { xhtml, css: css + ownCss }', "return { xhtml, css: '' }", 'test/dashboard/drop.test.ts'],
  ['closes a zip before its thumbnail is drawn', 'dashboard/drop/publication.ts', '  using open = reader', '  const open = reader\n  open[Symbol.dispose]()', 'test/dashboard/drop.test.ts'],
  ['keeps the thumbnail of a deleted version', 'server/store/queries/versions.ts', "    await this.#db.deleteFrom('thumbnails').where('version_id', '=', id).execute()\n", '', 'test/api/versions.test.ts'],

  ['writes zip archives that other programs cannot read', 'server/sites/version-archive.ts', 'entry.crc = crc32(chunk, entry.crc)', 'entry.crc = crc32(chunk)', 'test/api/files-and-archive.test.ts'],

  ['counts programs as visitors', 'server/edge/visit-counter.ts', "if (isBot(headers['user-agent'])) return", '', 'test/visits/counting.test.ts'],
  ['begins the days of visits at midnight UTC for all readers', 'server/analytics/report.ts', '.toZonedDateTimeISO(timeZone)', ".toZonedDateTimeISO('UTC')", 'test/visits/recording.test.ts'],

  ['lets repeated publishes evict different versions', 'server/sites/version-history.ts', 'return [...distinct, ...repeated]', 'return [...versions]', 'test/api/retention.test.ts'],

  // Preview links
  ['accepts a preview link after its end', 'server/edge/edge.ts', 'if (site.previewUntil !== undefined && now >= site.previewUntil)', 'if (false)', 'test/api/versions.test.ts'],
  ['accepts a preview link after a change of the password', 'server/sites/preview-links.ts', "[slug, passwordHash ?? '', versionId, seconds]", '[slug, versionId, seconds]', 'test/api/versions.test.ts'],
  ['accepts any preview link', 'server/sites/preview-links.ts', 'this.#tokens(claims, until).some((valid) => constantTimeEqual(valid, token))', 'token !== undefined', 'test/api/versions.test.ts'],
  ['sends the host of a version to other sites', 'server/edge/respond/policy.ts', ", 'Referrer-Policy', 'same-origin'", '', 'test/api/versions.test.ts'],

  // Names
  ['gives a name to two sites', 'server/sites/names.ts', 'if (!mayTake(former)) throw nameTaken(name)', '', 'test/api/names.test.ts'],
  ['gives an abandoned name to another account', 'server/sites/names.ts', "deletionReason === 'abandoned' && ownerId === accountId", "deletionReason === 'abandoned'", 'test/api/names.test.ts'],
  ['gives a former name to another site', 'server/sites/names.ts', 'former.renamedTo === slug || isReusable', 'former.renamedTo !== null || isReusable', 'test/api/names.test.ts'],
  ['allows look-alikes of reserved names', 'server/sites/name-policy.ts', 'return CONFUSABLES.reduce((text, [similar, letter]) => text.replace(similar, letter), name.toLowerCase())', 'return name', 'test/api/names.test.ts'],
  ['counts the visits of a renamed site anew', 'server/edge/visit-counter.ts', 'return visitsKey', 'return arguments[0].slug', 'test/api/names.test.ts'],
  ['keeps redirecting a former name', 'server/store/queries/sites.ts', "set({ renamed_to: null })", "set({ updated_at: 0 })", 'test/api/names.test.ts'],

  // Staging and finalize (spec 4.3 to 4.5)
  ['skips files by the hash of another size', 'server/publish/stage.ts', 'sizes.get(file.hash) === file.size', 'sizes.has(file.hash)', 'test/api/update.test.ts'],
  ['lets a claim token publish to an owned site', 'server/accounts/authorization.ts', 'if (site?.ownerId === null) return requireClaimToken', 'if (site) return requireClaimToken', 'test/api/claim.test.ts', 'test/api/update.test.ts'],
  ['finalizes with files that are missing', 'server/publish/finalize.ts', 'if (numbers.length === 0) return', 'return', FINALIZE],
  ['lets an anonymous draft go live without its claim token', 'server/publish/finalize.ts', 'if (site.ownerId !== null || !isDraft || !live || claimToken !== undefined) return', 'return', FINALIZE],
  ['runs two finalizes of one version at the same time', 'server/publish/finalize.ts', 'this.#running.set(versionId, { live, response })', '', 'test/blobs/races.test.ts', RATES],
  ['does not charge a finalize that changes nothing', 'server/publish/finalize.ts', "const isRepeat = version.state === 'ready' || this.#running.has(versionId)", 'const isRepeat = false', RATES],
  ['merges with a version that is not live any more', 'server/publish/stage.ts', 'const base = request.merge ? replacedId : request.baseVersionId', 'const base = request.baseVersionId', 'test/api/merge.test.ts'],
  ['does not apply the limits to a merged manifest', 'server/publish/merge.ts', 'const problems = validateManifest(merged, limits)', 'const problems = validateManifest(files, limits)', 'test/api/merge.test.ts'],
  ['replaces a site without a question', 'client/cli/replacement.ts', 'if (!removal || !removesMuch(removal)) return', 'return', 'test/cli/publish-choices.test.ts'],
  ['replaces a site by a drop without a question', 'protocol/manifest/removal.ts', 'index || files > liveFiles / 2', 'false', 'test/dashboard/drop.test.ts'],
  ['loses unsaved settings without a question', 'dashboard/site/settings-draft.ts', "if (findUnsavedSites().length > 0) addEventListener('beforeunload', confirmUnload)", 'if (findUnsavedSites().length > 0) return', 'test/dashboard/settings.test.ts'],
  ['offers domains that cannot work', 'server/app.ts', '!/^(.+\\.)?localhost$/.test(config.proxyHost)', 'true', 'test/dashboard/sites.test.ts'],
  ['undoes a version that another one has replaced', 'dashboard/site/undo-version.ts', 'if (currentVersionId !== versionId)', 'if (false)', 'test/dashboard/versions.test.ts'],
  ['emails the deletion of a site that was restored', 'server/operations/notices/notices.ts', 'if (site?.deletedAt === null) return undefined', '', 'test/api/session.test.ts'],
  ['refuses sign-in codes in full-width characters', 'server/lib/tokens.ts', "typed.normalize('NFKC')", 'typed', 'test/api/sign-in.test.ts'],
  ['counts removed files of an update as unchanged', 'dashboard/drop/delivery.ts', "mode === 'merge' ? 0 : live.length - known.length", '0', 'test/dashboard/drop.test.ts'],
  ['publishes a paste without a question', 'dashboard/drop/publication.ts', 'if (this.#picked.needsConfirmation)', 'if (false)', 'test/dashboard/drop.test.ts'],
  ['sets secure cookies where browsers do not store them', 'server/api/cookies.ts', "return new URL(baseUrl).protocol === 'https:' || isLoopbackUrl(baseUrl)", 'return true', 'test/dashboard/sign-in.test.ts'],
  ['animates where the browser asks for less motion', 'dashboard/style/kit.css', 'animation-iteration-count: 1 !important', 'animation-iteration-count: 1', 'test/dashboard/front.test.ts'],
  ['serves the front page without content', 'server/web/pages.ts', "builtSite.findResponse('front.html', request)", "builtSite.findResponse('index.html', request)", 'test/dashboard/front.test.ts'],
  ['overwrites a version of another publisher without a question', 'client/cli/publish.ts', 'preview !== undefined ? undefined : known?.liveVersionId', 'preview !== undefined ? undefined : undefined', 'test/cli/version-conflict.test.ts'],
  ['replaces a version of another publisher while it watches', 'client/cli/publish.ts', 'overwrites ? undefined : seen', 'undefined', 'test/cli/previews.test.ts'],
  ['lays a change over a version of another publisher', 'client/cli/watch.ts', "...(mode !== 'merge' && { baseVersionId }),", '', 'test/cli/previews.test.ts'],
  ['publishes the source of a project', 'client/cli/publish-folder.ts', 'if (built === undefined ||', 'if (true ||', 'test/cli/publish-choices.test.ts'],
  ['publishes a single file with secrets', 'client/cli/folder/scan.ts', 'if (isExcludedFile(root)) found.ignored.push(basename(root))\n    else addFile', 'addFile', 'test/cli/folder.test.ts'],
  ['replaces a deleted site without a question', 'client/cli/publish-target.ts', 'if (!isDeleted && (', 'if (true || (', 'test/cli/publish.test.ts'],
  ['makes a version with warnings live with --strict', 'client/cli/publish-target.ts', 'live: plan.live && !strict', 'live: plan.live', 'test/cli/site-commands.test.ts'],
  ['lets a pulled site replace the files of git', 'client/cli/pull.ts', 'return !isProtected && validatePath', 'return validatePath', 'test/cli/own-site.test.ts'],
  ['lets a pulled site write outside its folder', 'client/cli/pull.ts', ' && validatePath(path) === undefined', '', 'test/cli/own-site.test.ts'],
  ['leaves the key of a machine valid after logout', 'client/cli/logout.ts', 'await connect(server, key).endKey()', '', 'test/cli/account.test.ts'],
  ['trusts a tunnel whose proxy refused it', 'client/sdk/proxy.ts', 'statusCode < 300 && head.length === 0', 'true', 'test/cli/proxy.test.ts'],
  ['waits for a proxy that never answers', 'client/sdk/proxy.ts', 'for (const request of this.#opening) request.destroy()', '', 'test/cli/proxy.test.ts'],
  ['counts drafts as versions that were live', 'server/sites/version-history.ts', '.filter(({ publishedAt }) => publishedAt !== null)', '', 'test/api/retention.test.ts'],
  ['publishes an unchanged version', 'server/publish/finalize.ts', 'const unchanged = ifChanged ?', 'const unchanged = false ?', 'test/api/unchanged.test.ts'],
  ['drops a version with a new title as unchanged', 'server/publish/unchanged-version.ts', 'site.liveVersionId === null || changesMetadata(site, version, now)', 'site.liveVersionId === null', 'test/api/unchanged.test.ts'],
  ['replaces a live version that the publish was not based on', 'server/sites/version.ts', 'if (baseVersionId === null || baseVersionId === currentVersionId) return', 'return', FINALIZE, 'test/api/update.test.ts'],
  ['deletes the live version', 'server/sites/version-history.ts', 'if (site.liveVersionId === versionId) {\n        throw', 'if (false) {\n        throw', 'test/api/versions.test.ts'],

  // Manifests (spec 4.3)
  ["accepts a '..' segment", 'protocol/manifest/paths.ts', "if (segment === '.' || segment === '..')", "if (segment === '.')", MANIFEST],
  ['accepts two paths that are equal after NFC', 'protocol/manifest/paths.ts', 'const path = normalizeNfc(given)', 'const path = given', MANIFEST],
  ['accepts a file that is larger than its limit', 'protocol/manifest/manifest.ts', 'if (Number(size) > limits.fileBytes)', 'if (false)', MANIFEST],
  ['accepts a site that is larger than its limit', 'protocol/manifest/manifest.ts', 'if (total <= limits.siteBytes) return []', 'return []', 'test/api/publish.test.ts'],
  ['accepts in a folder what the service rejects', 'protocol/manifest/folder.ts', ': validatePath(path)', ': undefined', 'test/protocol/folder.test.ts'],

  // Resuming a publish (client)
  ['resumes a pending version of other files', 'client/sdk/resume.ts', 'known?.pending?.manifest === manifest', 'known?.pending', 'test/cli/resume.test.ts'],
  ['replaces a named site by a new one', 'client/sdk/resume.ts', 'if (named !== undefined || !known) throw refusals.at(-1)', 'if (!known) throw refusals.at(-1)', 'test/cli/resume.test.ts'],
  ['replaces a claimed site by a new one', 'client/sdk/resume.ts', 'if (owned) throw new SiteOwnedError(known.siteUrl, owned)', '', 'test/cli/resume.test.ts'],
  ['forgets a publish that is interrupted', 'client/sdk/resume.ts', 'memory.remember({ ...site, pending: { versionId, manifest } })', '', 'test/cli/resume.test.ts'],

  // The served client
  ['serves a client of another server', 'server/web/client-download.ts', '{ server: this.#origin }', "{ server: 'http://localhost:8080' }", 'test/journeys/client-package.test.ts'],
  ['lets the shell evaluate the base URL', 'server/web/client-download.ts', 'quoteShell(this.#origin + CLIENT_PACKAGE_PATH)', 'this.#origin + CLIENT_PACKAGE_PATH', 'test/journeys/client-package.test.ts'],
  ['ignores the server in an npx command', 'client/cli/server.ts', '(isNpx ? packageServer : undefined) ?? ', '', 'test/cli/memory.test.ts'],

  // Accounts and authorization (spec 2.5, 4.1, 4.2)
  ["lets any account act for a site's owner", 'server/accounts/authorization.ts', 'if (ownerId === account.id) return', 'return', 'test/api/sites.test.ts'],
  ['lets any account act as a collaborator', 'server/accounts/authorization.ts', "? 'collaborator' : undefined", "? 'collaborator' : 'collaborator'", 'test/api/sites.test.ts', COLLABORATORS],
  ['lets a collaborator manage a site', 'server/accounts/authorization.ts', "role !== 'owner' && OWNER_RIGHTS.has(right)", 'false', COLLABORATORS],
  ['lets a collaborator change the password', 'server/sites/site-metadata.ts', 'password === undefined && ttlSeconds', 'ttlSeconds', COLLABORATORS],
  ['lets a collaborator publish with an expiry', 'server/publish/stage.ts', "requiredRight(metadata) === 'manage' ? 'manage' : publishScope(preview.previewName)", 'publishScope(preview.previewName)', COLLABORATORS],
  ['keeps the access of a deleted account', 'server/jobs/account-deletion.ts', 'await tx.collaborators.removeEmail(account.email)', '', COLLABORATORS],
  ['sends any number of invitations', 'server/sites/collaborators.ts', 'sent >= MAX_INVITATIONS_PER_DAY', 'false', COLLABORATORS],
  ['collects the versions of a site in the trash', 'server/sites/trash.ts', "({ state }) => state === 'pending'", '() => true', TRASH],
  ['keeps sites in the trash forever', 'server/jobs/jobs.ts', 'keptUntil !== null && keptUntil <= clock()', 'false', TRASH],
  ['makes a preview live by a finalize', 'server/publish/finalize.ts', 'if (!live || name !== null) {', 'if (!live) {', PREVIEWS],
  ['deletes a preview that is finalized again', 'server/publish/finalize.ts', "if (version.state === 'ready' && (!live || name !== null))", "if (version.state === 'ready' && !live)", PREVIEWS],
  ['serves a preview after its end', 'server/edge/resolve/site-resolver.ts', 'previewUntil: previewUntil ?? undefined', 'previewUntil: undefined', PREVIEWS],
  ['serves the version of a preview after its end', 'server/edge/resolve/site-resolver.ts', 'publishedAt === null ? (previewUntil ?? undefined) : undefined', 'undefined', PREVIEWS],
  ['gives a preview the name of a version', 'server/sites/preview.ts', 'MAX_PREVIEW_NAME_LENGTH = 25', 'MAX_PREVIEW_NAME_LENGTH = 26', PREVIEWS],
  ['evicts versions for previews', 'server/sites/version-history.ts', ' && previewName === null', '', PREVIEWS],
  ['promotes another version than the one that was seen', 'server/sites/previews.ts', 'if (versionId === undefined || versionId === id) return id', 'if (id) return id', PREVIEWS],
  ['lets open pages miss an update', 'server/edge/live-reload.ts', '          watch.isChanged = false\n          const versionId = await findVersionId()', '          const versionId = await findVersionId()\n          watch.isChanged = false', 'test/edge/live-reload.test.ts'],
  ['lets one network take all waiting requests', 'server/edge/live-reload.ts', 'new ConcurrencyLimiter(waiting)', 'new ConcurrencyLimiter({ ...waiting, perKey: waiting.total })', 'test/edge/live-reload.test.ts'],
  ['counts a page with live reload for each time it was hidden', 'server/edge/live-reload.ts', 'earlier?.abort.abort()', '', 'test/edge/live-reload.test.ts'],
  ['counts a page with live reload after it was closed', 'server/edge/live-reload.ts', "this.#pages.get(key)?.abort.abort()", '', 'test/edge/live-reload.test.ts'],
  ['adds the reload script to the promoted site', 'server/edge/resolve/site-resolver.ts', 'if (isId(label)) {', 'if (false) {', 'test/edge/live-reload.test.ts'],
  ['exceeds the bytes of a quota', 'server/store/queries/usage.ts', 'usage.bytes + excluded.bytes <= ${limits.bytes}', 'usage.bytes <= ${limits.bytes}', QUOTAS],
  ['exceeds the sites of a quota', 'server/store/queries/usage.ts', 'usage.sites + excluded.sites <= ${limits.sites}', 'usage.sites <= ${limits.sites}', QUOTAS],
  ['counts a content once for each site of an account', 'server/sites/blob-references.ts', 'others?.has(hash) ? sum : sum + sizes.get(hash)!', 'sum + sizes.get(hash)!', QUOTAS],
  ['counts a content again that the site has', 'server/sites/blob-references.ts', '!had.has(hash)', 'true', QUOTAS],
  ['counts injected documents', 'server/sites/blob-references.ts', 'released.filter(({ hash }) => counted.has(hash))', 'released', QUOTAS],
  ['counts an upload and the contents it brought', 'server/publish/finalize.ts', 'ready.newBytes - uploads', 'ready.newBytes', QUOTAS],
  ['does not count unfinished updates', 'server/publish/stage.ts', "const bytes = sumUploads('pending', version.files)", 'const bytes = 0', QUOTAS],
  ['counts files of the live version as an upload', 'server/store/contract/versions.ts', '(known ? sum : sum + size)', 'sum + size', QUOTAS],
  ['keeps a deleted site in the count', 'server/sites/trash.ts', 'await releaseHolding(tx, site, { bytes, sites: 1 })', 'await releaseHolding(tx, site, { bytes, sites: 0 })', QUOTAS],
  ['keeps a deleted version in the count', 'server/sites/version.ts', 'await releaseHolding(tx, site, { bytes, sites: 0 })', '', QUOTAS],
  ['stores archives without room', 'server/publish/archive-upload.ts', 'await receipt.add(size)', '', QUOTAS],
  ['keeps a claimed site in the count of its network', 'server/sites/site.ts', 'await releaseHolding(tx, site, { bytes: bytes + uploads, sites: 1 })', '', QUOTAS],
  ['does not count a claimed site for its account', 'server/sites/site.ts', 'await this.#quotas.charge(tx, owned, { bytes: own + uploads, sites: 1 })', '', QUOTAS],
  ['gives each address a quota of its own', 'server/accounts/quotas.ts', 'shortenAddress(address)', 'address', QUOTAS],
  ['ignores the exceptions of an account', 'server/accounts/plans.ts', 'account.limits === null ? plan : { ...plan, ...account.limits }', 'plan', QUOTAS],
  ['exceeds the limit of previews', 'server/publish/finalize.ts', 'await assertPreviewLimit(tx, { slug: site.slug, name, max, now })', '', PREVIEWS],
  ['restores a site of another account', 'server/sites/trash.ts', 'site.ownerId === account.id && ', '', TRASH],
  ['keeps the bytes of an expired site in the trash', 'server/sites/trash.ts', 'site.expiresAt ?? Infinity', 'Infinity', TRASH],
  ['tells strangers about the trash', 'server/accounts/authorization.ts', "role === 'owner' && isInTrash(site)", 'isInTrash(site)', TRASH],
  ['prunes the drafts of sites in the trash', 'server/store/queries/versions.ts', "      .where('versions.created_at', '<', before)\n      .where('gone_at', 'is', null)", "      .where('versions.created_at', '<', before)", 'test/store/sqlite.test.ts'],
  ['forgets the visits of a site in the trash', 'server/store/queries/visits.ts', ", e('kept_until', 'is not', null)", '', 'test/store/sqlite.test.ts'],
  ['reports a process that has ended as one that runs', 'server/jobs/scheduler.ts', '!isRenewed || ', '', 'test/operator/scheduled.test.ts'],
  ['deletes an account without its trash', 'server/jobs/account-deletion.ts', ', ...trashed]', ']', TRASH],
  ['accepts any claim token', 'server/accounts/authorization.ts', "!constantTimeEqual(hashToken(claimToken), site.claimTokenHash)", 'false', 'test/api/claim.test.ts'],
  ['serves the API for an expired site', 'server/accounts/authorization.ts', '(site.expiresAt !== null && site.expiresAt <= now)', 'false', 'test/api/claim.test.ts', 'test/api/update.test.ts', FINALIZE],
  ['accepts an expired code', 'server/accounts/sign-in-code.ts', '.filter((row) => row.expiresAt > now)', '', SIGN_IN],
  ['lets a named key end the key without a name', 'server/accounts/account.ts', 'if (name === undefined) await tx.accounts.setKey(accountId, hashToken(apiKey))', 'await tx.accounts.setKey(accountId, hashToken(apiKey))\n      if (name === undefined) return', SIGN_IN],
  ['does not limit named keys', 'server/accounts/named-keys.ts', '>= MAX_NAMED_KEYS', '> 1_000', SIGN_IN],
  ['lets a key of a narrow scope do everything', 'server/accounts/permissions.ts', "rank(grant.scope) < rank(access.previews ? 'preview' : access.scope)", 'false', KEYS],
  ['lets a key of one site change other sites', 'server/accounts/permissions.ts', '!grant.sites.includes(site.visitsKey)', 'false', KEYS],
  ['lets a key of one site change the account', 'server/accounts/permissions.ts', "access.reach === 'site' && slug !== undefined", 'slug !== undefined', KEYS],
  ['lets a key that expires create one that does not', 'server/accounts/permissions.ts', "access.reach === 'credentials' && grant.expiresAt !== null", 'false', KEYS],
  ['lets a key of scope publish set the expiry of a site', 'server/accounts/authorization.ts', "await assertPermitted(queries, caller, { scope, reach: 'site' }, slug)", '', KEYS],
  ['lets a key of previews publish the live version', 'server/accounts/permissions.ts', "typeof previewName === 'string' ? 'preview' : 'publish'", "'preview'", KEYS],
  ['lets a key of previews finalize other versions', 'server/publish/finalize.ts', "await assertPermitted(queries, caller, { scope, reach: 'site' }, slug)", '', KEYS],
  ['lets a key of previews upload files of other versions', 'server/publish/publish.ts', "await assertPermitted(store.read, caller, { scope, reach: 'site' }, slug)", '', KEYS],
  ['accepts an expired key', 'server/accounts/named-keys.ts', 'if (key.expiresAt !== null && key.expiresAt <= now) throw', 'if (false) throw', KEYS],
  ['revokes keys of other accounts', 'server/store/queries/keys.ts', ".where('account_id', '=', accountId)\n  }", "\n  }", KEYS],
  ['stores limited keys as earlier releases read them', 'server/accounts/named-keys.ts', 'hashToken(`limited ${apiKey}`)', 'hashToken(apiKey)', KEYS],
  ['lets any account administer the service', 'server/accounts/administrators.ts', 'account === undefined || account.administratorSince === null', 'account === undefined', ADMIN],
  ['lets every key of an administrator administer the service', 'server/accounts/administrators.ts', "grant?.scope === 'admin' && grant.sites === null", 'true', ADMIN],
  ['lets an administrator change things with an old session', 'server/accounts/administrators.ts', 'signedInAt > now - MAX_SESSION_AGE_MS', 'true', ADMIN],
  ['lets a key of scope manage create one of scope admin', 'server/accounts/administrators.ts', 'if (!mayAdminister(caller))', 'if (false)', ADMIN],
  ['lets the last administrator remove its mark', 'server/accounts/administrators.ts', 'if (!isAdministrator) await assertNotLast(tx, account)', '', ADMIN],
  ['keeps the keys of scope admin of an account without the mark', 'server/accounts/administrators.ts', "if (scope === 'admin') await", 'if (false) await', ADMIN],
  ['tells strangers which routes for administrators exist', 'server/api/app.ts', "table.filter(({ access }) => access !== 'admin')", 'table', ADMIN],
  ['gives the key of a device twice', 'server/accounts/device-sign-in.ts', 'if (!(await tx.deviceSignIns.remove(deviceHash))) throw codeExpired()', 'await tx.deviceSignIns.remove(deviceHash)', DEVICE],
  ['gives the key of a device after its expiry', 'server/accounts/device-sign-in.ts', 'signIn !== undefined && signIn.expiresAt > now', 'signIn !== undefined', DEVICE],
  ['lets an account guess codes of devices', 'server/accounts/device-sign-in.ts', 'if (count > MAX_CODES_PER_HOUR)', 'if (false)', DEVICE],
  ['lets a device poll at any rate', 'server/accounts/device-sign-in.ts', 'if (isInTime)\n', 'if (true)\n', DEVICE],
  ['writes for a device that polls beyond the limit', 'server/accounts/device-sign-in.ts', 'polledAt !== null && now < polledAt + intervalMs', 'false', DEVICE],
  ['charges nothing for unknown codes of devices', 'server/accounts/device-sign-in.ts', 'if (!isInTime) await charge()', '', DEVICE],
  ['accepts a token of a job twice', 'server/accounts/trusts/trusts.ts', 'if (!(await tx.trusts.useToken(idToken.hash, idToken.expiresAt)))', 'if (!(await tx.trusts.useToken(idToken.hash, idToken.expiresAt)) && false)', TRUSTS],
  ['accepts a token for another audience', 'server/accounts/trusts/id-tokens.ts', '{ issuer, audience, algorithms', '{ issuer, algorithms', TRUSTS],
  ['trusts a repository that was registered again', 'server/accounts/trusts/trusts.ts', 'trust.repositoryId === job.repositoryId', 'true', TRUSTS],
  ['lets a job of a pull request publish the live version', 'server/accounts/trusts/trusts.ts', "ref.kind === 'pull request' && scope !== 'read'", 'false', TRUSTS],
  ['charges nothing for refused exchanges', 'server/api/trusts.ts', 'if (!request.caller.account) await chargeAddress()', '', TRUSTS],
  ['charges nothing for the keys of jobs', 'server/accounts/trusts/trusts.ts', 'await charge(account)', '', TRUSTS],
  ['waits for a first job without limit', 'server/accounts/trusts/trusts.ts', 'now - trust.createdAt < FIRST_USE_MS', 'true', TRUSTS],
  ['trusts jobs that pull requests of forks cause', 'server/accounts/trusts/job.ts', 'BRANCH_EVENTS.has(event) ? BRANCHES', 'true ? BRANCHES', TRUSTS],
  ['takes the source branch of a merge request for a branch', 'server/accounts/trusts/job.ts', 'ref_path: ref, environment } = claims', 'ref: branch, environment } = claims\n  const ref = `refs/heads/${branch}`', TRUSTS],
  ['loads the keys of an issuer for each unknown key', 'server/accounts/trusts/issuer-keys.ts', 'lifetimeMs: LOAD_INTERVAL_MS, clock', 'lifetimeMs: 0, clock', TRUSTS],
  ['reads an answer of an issuer of any size', 'server/lib/fetch-json.ts', 'if (bytes > maxBytes) throw', 'if (false) throw', 'test/lib/issuer-keys.test.ts'],
  ['leaves keys of a removed trust valid', 'server/accounts/trusts/trusts.ts', 'await tx.keys.deleteIssued(account.id, keyIssuer(id))', '', TRUSTS],
  ['gives keys to a trust of an account without access', 'server/accounts/trusts/trusts.ts', '|| !(await findRole(queries, site, account))', '', TRUSTS],
  ['leaves two comments of two jobs', 'action/comment.mjs', 'if (!first || first.id >= created.id) return', 'return', 'test/journeys/action.test.ts'],
  ['updates a comment that a person wrote', 'action/comment.mjs', "user?.type === 'Bot' && ", '', 'test/journeys/action.test.ts'],
  ['prints the key of a job', 'action/main.mjs', 'mask(apiKey)', 'console.log(apiKey)', 'test/journeys/action.test.ts'],
  ['leaves named keys of a deleted account valid', 'server/store/queries/accounts.ts', "await this.#db.deleteFrom('named_keys').where('account_id', '=', id).execute()\n", '', 'test/api/account-deletion.test.ts'],
  ['accepts a code twice', 'server/accounts/sign-in-code.ts', 'await tx.signIns.deleteCode(right.attemptHash)', '', SIGN_IN],
  ['never ends a code by wrong tries', 'server/accounts/sign-in-code.ts', 'row.attemptTries < MAX_TRIES_PER_CODE', 'true', 'test/api/sign-in-attempts.test.ts'],
  ['lets strangers lock the owner out', 'server/accounts/sign-in-code.ts', 'isLocked: isSourceLocked || (!isKnown && unknownLocked)', 'isLocked: isSourceLocked || unknownLocked', 'test/api/sign-in-attempts.test.ts'],
  ['mails any number of codes', 'server/accounts/sign-in-code.ts', '> MAX_CODES_PER_HOUR) throw', '> Number.POSITIVE_INFINITY) throw', SIGN_IN],
  ['keeps a key valid at the rate limit', 'server/api/auth.ts', 'caller.signedInWith === ends', 'false', RATES],
  ['admits requests beyond the rate limit', 'server/accounts/rate-limits.ts', 'admitted: count <= limit', 'admitted: true', RATES],
  ['counts each IPv6 address of a network as a caller', 'server/lib/client-ip.ts', 'ipv6Groups(bare).slice(0, 4)', 'ipv6Groups(bare)', RATES, 'test/lib/shares.test.ts', PASSWORD],
  ['trusts the leftmost forwarded address', 'server/lib/client-ip.ts', 'forwarded.at(-trustedProxies)', 'forwarded.at(0)', RATES],
  ['accepts the session cookie from other sites', 'server/api/auth.ts', 'return value && isSameOrigin(request, new URL(baseUrl).origin)', 'return value', 'test/api/session.test.ts'],

  // Serving (contract, "Serving")
  ['serves _headers and _redirects', 'server/edge/resolve/route-table.ts', '.filter((file) => !isRuleFile(file.path))', '', 'test/edge/resolve.test.ts'],
  ['falls back to index.html for a missing asset', 'server/edge/resolve/route.ts', 'if (!fallback || hasExtension(spelling)) return', 'if (!fallback) return', 'test/edge/spa.test.ts'],
  ['serves files of the version before for ever', 'server/edge/resolve/route.ts', 'now < previousFiles.until', 'true', 'test/edge/previous-version.test.ts'],
  ['applies rules before files', 'server/edge/resolve/route.ts', 'return entry ?? findEntry(table.entries, spelling) ?? matchUnknownPath(table, request, { spelling, now })', 'return matchUnknownPath(table, request, { spelling, now })', 'test/edge/redirects.test.ts'],
  ['answers If-None-Match with the whole file', 'server/edge/respond/conditional.ts', "matchesEtag(noneMatch, file.etag, 'weak') ? 304 : 200", '200', 'test/edge/conditional.test.ts'],
  ['gives every encoding the same etag', 'server/edge/respond/served-file.ts', '`"${tag}-${encoding}"`', '`"${tag}"`', 'test/edge/encodings.test.ts'],
  ['answers a range with one byte too many', 'server/edge/respond/ranges.ts', 'Math.min(Number(last), size - 1)', 'Math.min(Number(last) + 1, size - 1)', 'test/edge/ranges.test.ts'],
  ['sends an encoding that the client refuses', 'server/edge/respond/negotiation.ts', 'weight(coding) > 0', 'weight(coding) >= 0', 'test/edge/encodings.test.ts'],
  ['caches what was read before a site changed', 'server/lib/loading-cache.ts', 'if (this.#loads.get(key) === load && !this.#isOutdated(load)) this.#store', 'this.#store', EDGE_CACHE, LOADING_CACHE],
  ['caches what was read before an owner changed', 'server/lib/loading-cache.ts', '&& !this.#isOutdated(load)) this.#store', ') this.#store', EDGE_CACHE, LOADING_CACHE],
  ['keeps a negative result of a site that changed', 'server/lib/loading-cache.ts', 'return this.#invalidations.hasAny(negative.owners, negative.since) ? undefined : negative.value', 'return negative.value', EDGE_CACHE, LOADING_CACHE],
  ['shares a read that began before a domain changed', 'server/lib/loading-cache.ts', 'joinedAt > load.since && this.#isOutdated(load)', 'false', EDGE_CACHE, LOADING_CACHE],
  ['counts loads of owners', 'server/lib/loading-cache.ts', '!isNested && this.#inFlight', 'this.#inFlight', EDGE_CACHE, LOADING_CACHE],
  ['keeps all sites as they were when a file of one cannot be read', 'server/lib/loading-cache.ts', 'if (!error.isIsolated) ', '', EDGE_CACHE, LOADING_CACHE],
  ['waits for a silent database as long as it takes', 'server/lib/loading-cache.ts', 'startTimeout(MAX_STALE_WAIT_MS)', 'startTimeout(2 * MAX_STALE_WAIT_MS)', EDGE_CACHE, LOADING_CACHE],
  ['serves what changed while a request waited', 'server/lib/loading-cache.ts', 'return stale.value ? this.#useStale(stale.value)', 'return stale ? this.#useStale({ key, epoch: 0, loadedAt: 0, value: { version: 0 } as never })', EDGE_CACHE, LOADING_CACHE],
  ['loads every stale entry at the same time', 'server/lib/circuit-breaker.ts', 'this.#revalidations < MAX_REVALIDATIONS &&', '', EDGE_CACHE, LOADING_CACHE],
  ['asks a database that is away for every visit', 'server/lib/circuit-breaker.ts', 'this.#isOpen = true', 'this.#isOpen = false', EDGE_CACHE, LOADING_CACHE],
  ['serves cached sites forever without a database', 'server/lib/circuit-breaker.ts', 'Math.max(silenceMs(), this.now() - since) < maxStaleMs', 'since <= this.now()', EDGE_CACHE, LOADING_CACHE],
  ['serves sites as they were before missed changes forever', 'server/lib/circuit-breaker.ts', 'Math.max(silenceMs(), this.now() - since)', 'silenceMs()', EDGE_CACHE, LOADING_CACHE],
  ['serves a site as it was although it was read again', 'server/lib/loading-cache.ts', 'if (error.isIsolated && kept.epoch !== this.#epochEnds.length) throw error', '', EDGE_CACHE, LOADING_CACHE],
  ['drops the domains of a site that is loaded again', 'server/lib/loading-cache.ts', 'else if (kept && kept.owner === owner) this', 'else if (kept && !kept) this', EDGE_CACHE, LOADING_CACHE],
  ['asks for as many unknown names as one network wants', 'server/lib/miss-limiter.ts', 'all.tokens < 1 || ', '', 'test/edge/flood.test.ts'],
  ['asks for as many unknown names as all networks want', 'server/lib/miss-limiter.ts', ' || (isReserved && reserved.tokens < 1)', '', 'test/edge/flood.test.ts'],
  ['lets three networks keep all others from sites', 'server/lib/miss-limiter.ts', '(isReserved && reserved.tokens < 1)', 'isReserved', 'test/edge/flood.test.ts'],
  ['limits what a proxy asks like one client', 'server/edge/resolve/site-resolver.ts', 'if (!client) return', 'if (client?.socket === null) return', 'test/edge/flood.test.ts'],
  ['limits the lookups of sites that exist', 'server/lib/miss-limiter.ts', 'for (const bucket of buckets) bucket.tokens++', '', 'test/edge/flood.test.ts'],
  ['limits the lookups of sites that changed', 'server/lib/miss-limiter.ts', 'if (this.#known.has(name)) return lookup()', '', 'test/edge/flood.test.ts'],
  ['reads the site of a domain twice', 'server/lib/loading-cache.ts', 'if (make && isNeeded && isNew)', 'if (make && !make)', EDGE_CACHE, LOADING_CACHE],
  ['reads the live version for each preview of a cached site', 'server/edge/resolve/site-resolver.ts', 'withLive: !isCached', 'withLive: true', EDGE_CACHE],
  ['reads the manifest of the previous version after its hour', 'server/store/queries/serving.ts', ' and coalesce(sites.live_since, sites.created_at) > ${since}', '', EDGE_CACHE],
  ['parses any number of documents at a time', 'server/sites/page-metadata/injected-document.ts', 'running: 8,', 'running: 1000,', 'test/sites/injected-document.test.ts'],
  ['keeps responses with _headers beyond their memory', 'server/edge/respond/site-headers.ts', 'this.#cachedBytes += responseBytes', '', 'test/memory/accounted.test.ts'],
  ['keeps versions and domains of a site that changed', 'server/lib/second-chance-cache.ts', 'for (const one of owned ?? []) this.delete(one as K)', '', EDGE_CACHE, LOADING_CACHE],
  ['keeps the redirect of a www name whose target has a certificate', 'server/edge/resolve/site-resolver.ts', ': await getOwner(name)', ': await getOwner(found.site.slug, () => this.#buildSite(found))', 'test/tls/redirects.test.ts'],
  ['lets caches keep content behind a password', 'server/edge/respond/policy.ts', "    cacheControl: 'private, no-store',\n    extraHeaders: [],", "    cacheControl: 'public, max-age=0',\n    extraHeaders: [],", PASSWORD],
  ['lets search engines index previews', 'server/edge/respond/policy.ts', "['X-Robots-Tag', 'noindex', ", '[', EDGE, 'test/edge/headers.test.ts'],
  ['redirects to another host after a password', 'server/edge/password/redirect-target.ts', '/^\\/(?!\\/)[!-[\\]-~]*$/', '/^\\/[!-~]*$/', 'test/edge/resolve.test.ts'],
  ['accepts two Host headers', 'server/net/request-target.ts', 'if (countHostHeaders(request.rawHeaders) > 1) return undefined', '', 'test/serving/hygiene.test.ts'],
  ['accepts a target of another host', 'server/net/request-target.ts', "if (hostName(authority) !== hostName(request.headers.host ?? '')) return undefined", '', 'test/serving/hygiene.test.ts'],
  ['ends the process when a connection is reset after CONNECT', 'server/net/listener.ts', "    socket.on('error', () => socket.destroy())\n", '', 'test/lib/connections.test.ts'],
  ['keeps a closed connection of node:http2 while its client keeps its side open', 'server/net/http2-node.ts', 'this.isAwaitingRequest || this.#session.closed', 'this.isAwaitingRequest', 'test/http2/flow.test.ts'],
  ['refuses requests that cross its GOAWAY', 'server/net/http2/session.ts', 'this.#writeBuffer.add(SHUTDOWN_NOTICE)', 'this.#refuse(CODE.noError)', 'test/http2/shutdown.test.ts'],
  ['keeps a stream of node:http2 that was reset with NO_ERROR', 'server/net/http2-node.ts', 'for (const stream of this.#openStreams) if (stream.closed) stream.destroy()', '', 'test/http2/flow.test.ts'],
  ['answers a stream of node:http2 that is closed', 'server/net/http2-node.ts', 'continue: () => stream.closed ||', 'continue: () => stream.destroyed ||', 'test/http2/flow.test.ts'],
  ['accepts a password cookie of another site', 'server/edge/password/password-gate.ts', 'return this.#signer.verify([slug, passwordHash, until], signature)', "return this.#signer.verify([slug, passwordHash, until], signature) || signature !== ''", PASSWORD],
  ['accepts any number of wrong passwords', 'server/edge/password/attempt-limiter.ts', 'return guesses - right >= maxWrong || right >= maxRight', 'return false', PASSWORD],
  ["answers a CA's validation from a publisher's files", 'server/edge/acme-http-challenge.ts', "return VALIDATION.test(canonicalize(path) ?? '')", 'return false', 'test/edge/validation.test.ts'],

  // Rules of sites (contract, "Response headers of sites")
  ['lets a site instruct the proxy in front', 'server/site-rules/parse/header-policy.ts', 'if (!instructsProxies(lower)) return undefined', 'return undefined', HEADERS],
  ['lets a site clear cookies of its siblings', 'server/site-rules/parse/header-policy.ts', 'if (value.split', "if (value !== '' || value.split", HEADERS],
  ['lets a site set Alt-Svc', 'server/site-rules/parse/header-policy.ts', "if (lower === 'alt-svc')", "if (lower === '')", HEADERS],

  // Domains and certificates (spec 5.3)
  ['activates a domain after one check', 'server/domains/transition.ts', 'if (began - since < MIN_CONFIRMATION_GAP_MS)', 'if (false)', 'test/domains/lifecycle.test.ts', 'test/domains/claims.test.ts'],
  ['gives away a domain whose owner still proves it', 'server/domains/transition.ts', 'currentOwner && hasProof(result.texts, currentOwner.verificationToken)', 'false', 'test/domains/claims.test.ts'],
  ['gives away a reserved domain', 'server/domains/transition.ts', '  if (reservation)\n    return stays({', '  if (false)\n    return stays({', 'test/domains/claims.test.ts'],
  ['never stops serving a domain that points elsewhere', 'server/domains/transition.ts', 'if (now - since >= GRACE_PERIOD_MS)', 'if (false)', 'test/domains/lifecycle.test.ts', 'test/domains/schedule.test.ts'],
  ['orders beyond the limits of the CA', 'server/certificates/ca-rate-limits.ts', '  if (time > now) return time\n', '', 'test/certificates/budget.test.ts'],
  ['overwrites the certificate of the process that took over', 'server/certificates/issuance.ts', 'if (certificate?.orderUrl !== order!.url) return false', '', 'test/certificates/kills.test.ts'],
  ['reschedules a certificate that was replaced', 'server/store/queries/certificates.ts', "      .where('certificate_id', 'is not distinct from', certificateId)\n", '', 'test/store/sqlite.test.ts'],

  // Bounds (design, promise 7)
  ['lets one caller take all places', 'server/lib/concurrency-limiter.ts', ' && (this.#activeByKey.get(caller) ?? 0) < this.#maxPerKey', '', 'test/lib/shares.test.ts'],
  ['lets one network hold all memory', 'server/lib/client-memory.ts', '> this.#perNetworkBytes) return', '> Number.POSITIVE_INFINITY) return', 'test/lib/client-memory.test.ts'],
  ['never ends a slow body', 'server/lib/transfer-rates.ts', 'this.#timer ??= setInterval(() => this.#check(), this.#intervalMs).unref()', '', 'test/bodies/transfer-rates.test.ts'],
  ['parses JSON of any depth', 'server/api/json-body.ts', 'if (++depth > MAX_DEPTH)', 'if (++depth > 1e9)', MANIFEST, 'test/stalls/stalls.test.ts'],
  ['injects what the metadata was before', 'server/sites/page-metadata/injected-document.ts', 'published.contentType, tags]', 'published.contentType]', 'test/edge/injected-document.test.ts'],
  ['stores encodings of an injected document that the collector may delete', 'server/publish/precompress/injected-documents.ts', 'if (document) await tx.blobs.addReferences(current.slug, [document.hash])', '', 'test/precompress/precompressor.test.ts'],
  ['calls encodings complete though the metadata has changed', 'server/publish/precompress/injected-documents.ts', 'return (one && injectionKey(one)) === (other && injectionKey(other))', 'return true', 'test/precompress/precompressor.test.ts'],
  ['gives up no lost file', 'server/publish/precompress/precompressor.ts', 'const attempted = new Set([...encoded, ...skipped]', 'const attempted = new Set([...(await read.encodings.ofSite(slug))]', 'test/precompress/precompressor.test.ts'],

  // Files in S3 (docs/decisions/022-s3.md)
  ['accepts other bytes from a bucket than it stored', 'server/blobs/s3/verified-reader.ts', "verify: (bytes) => bytes.length === length && hashOnce('sha256', bytes) === hash,", '', 'test/s3/faults.test.ts'],
  ['trusts the files of the disk cache', 'server/blobs/s3/verified-reader.ts', "if (cached && hashOnce('sha256', cached) === hash) {", 'if (cached) {', 'test/s3/reads.test.ts'],
  ['fetches a piece for each of its readers', 'server/blobs/s3/verified-reader.ts', 'if (fetching) return fetching', '', 'test/s3/reads.test.ts'],
  ['stores what a client did not declare', 'server/blobs/s3/incoming-content.ts', 'assertExpected(received, this.#expected)', '', 'test/s3/faults.test.ts'],
  ['accepts an object with other bytes than it sent', 'server/blobs/s3/uploads.ts', "assertStored(response, md5.digest('hex'))", '', 'test/s3/faults.test.ts'],
  ['repeats every request during an outage', 'server/blobs/s3/s3-client.ts', ' || !this.#budget.take()', '', 'test/s3/faults.test.ts'],
  ['calls a full bucket unavailable', 'server/blobs/s3/s3-error.ts', 'if (error instanceof S3Error && error.isFull)', 'if (false as boolean)', 'test/s3/faults.test.ts'],
  ['signs with a clock that the server refuses', 'server/blobs/s3/s3-client.ts', 'new Date(this.#clock() + this.#clockOffsetMs)', 'new Date(this.#clock())', 'test/s3/faults.test.ts'],
  ['keeps the parts of a refused upload', 'server/blobs/s3/uploads.ts', 'await this.#client.send(request).catch(() => undefined)', '', 'test/s3/reads.test.ts'],
  ['lets the disk cache grow', 'server/blobs/s3/disk-cache.ts', 'while (this.#writtenBytes > (limit * FREE_SHARE) / processes) await this.#evict()', '', 'test/s3/reads.test.ts'],
  ['spools archives without a bound', 'server/publish/archive/spool.ts', ' || this.#usedBytes + bytes > this.#total', '', 'test/archive/spool-space.test.ts'],
  ['lets one network use all of the space for archives', 'server/publish/archive/spool.ts', 'used + bytes > this.#perNetwork || ', '', 'test/archive/spool-space.test.ts'],
  ['deletes files that a running backup needs', 'server/jobs/jobs.ts', 'if (await tx.leases.isTaken(BACKUP_LEASE, clock()))', 'if (false as boolean)', BACKUP],
  ['deletes files of backups by a damaged list', 'server/operations/backup/prune.ts', '(await hashBody(compared)) !== list.hash', 'false', BACKUP],
  ['restores a backup with lost files', 'server/operations/backup/restore.ts', 'await assertComplete(target, manifest)', '', BACKUP],
  ['restores a backup into a folder with other data', 'server/operations/backup/restore.ts', 'await assertEmpty(folder)', '', BACKUP],
]

export const MUTATIONS: readonly Mutation[] = ROWS.map(([breaks, file, find, replace, ...tests]) => ({
  breaks,
  file,
  find,
  replace,
  tests,
}))
