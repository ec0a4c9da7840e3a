import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { clientIp } from '../packages/http-server/clients/client-ip.ts'
import { ClientMemory } from '../packages/http-server/clients/client-memory.ts'
import { Connections } from '../packages/http-server/clients/connections.ts'
import { TransferRates } from '../packages/http-server/clients/transfer-rates.ts'
import { Http1FastPath } from '../packages/http-server/http1/fast-path.ts'
import { handleNodeRequest } from '../packages/http-server/http1/node-handler.ts'
import { isTls } from '../packages/http-server/is-tls.ts'
import { Listener } from '../packages/http-server/listener.ts'
import { MemoryBudget } from '../packages/http-server/memory/second-chance-cache.ts'
import { ProxyProtocol } from '../packages/http-server/proxy-protocol.ts'
import { rejectAmbiguous } from '../packages/http-server/request-target.ts'
import type { PageSettings } from '../protocol/api/page-settings.ts'
import { VisitRecorder } from './analytics/visit-recorder.ts'
import { buildApi } from './api/app.ts'
import {
  assertSameFleet,
  assertUnusedBucket,
  type Backends,
  makeSettingsShared,
  openBackends,
  openDatabase,
  openSharedDatabase,
  type StartOptions,
} from './backends.ts'
import type { Blobs } from './blobs/blobs.ts'
import type { Https, HttpsOptions } from './certificates/https.ts'
import { redirectToHttps } from './certificates/https-redirect.ts'
import { type ReencryptedKeys, type ReencryptOptions, reencryptKeys } from './certificates/stored-keys.ts'
import { openPort } from './config/open-port.ts'
import { type Config, ConfigError } from './config/settings.ts'
import { canReceiveDomains } from './domains/name.ts'
import { CHALLENGE_PREFIX } from './edge/acme-http-challenge.ts'
import { Edge } from './edge/edge.ts'
import type { EdgeOptions } from './edge/edge-options.ts'
import { sweeps } from './jobs/jobs.ts'
import { Scheduler } from './jobs/scheduler.ts'
import { CircuitBreaker } from './lib/circuit-breaker.ts'
import { DEADLINES } from './lib/deadlines.ts'
import { HSTS, maySendHsts } from './lib/hsts.ts'
import type { Incidents } from './lib/incidents.ts'
import type { Metrics } from './lib/metrics.ts'
import { MissLimiter } from './lib/miss-limiter.ts'
import { ProbeToken } from './lib/probe-token.ts'
import { UndecryptableError } from './lib/secret-box.ts'
import { shareResult } from './lib/share-result.ts'
import type { Tracer } from './lib/telemetry.ts'
import { SECOND_MS } from './lib/time.ts'
import { AccessLog } from './operations/access-log/access-log.ts'
import { ActivityRecorder } from './operations/administration/activity.ts'
import { assertSameBucket, FleetSettings, type UsedSettings } from './operations/fleet/fleet-settings.ts'
import { NodeReporter } from './operations/fleet/nodes.ts'
import { InternalServer } from './operations/internal/internal-server.ts'
import { METRICS_PATH, metricsRoute, ON_DEMAND_TLS_PATH, onDemandTls } from './operations/internal/routes.ts'
import { ServiceRequests } from './operations/telemetry/observe.ts'
import { addProcessMetrics } from './operations/telemetry/process-metrics.ts'
import { watchService } from './operations/telemetry/service-incidents.ts'
import { addServiceMetrics } from './operations/telemetry/service-metrics.ts'
import type { Precompressor } from './publish/precompress/precompressor.ts'
import { createServices, publishLimits, type Services } from './services.ts'
import type { ChangeEffects } from './store/store.ts'
import { agentFiles } from './web/agent-files.ts'
import { BuiltSite } from './web/built-site.ts'
import { ClientDownload } from './web/client-download.ts'

/** The services without the servers: for the commands of the operator. */
export interface OperatorContext extends Services {
  /** Takes the settings of all nodes from this process, and encrypts keys with its secret; returns their numbers. */
  shareSettings(options?: Pick<ReencryptOptions, 'discardsLostKeys'>): Promise<ReencryptedKeys>
}

export interface Service extends AsyncDisposable {
  port: number
  httpsPort: number | undefined
  internalPort: number | undefined
  baseUrl: string
  precompressor: Precompressor
  /** The engine of the blobs, which tests observe. */
  blobs: Blobs
  /** The numbers for the operator, which measurements read. */
  metrics: Metrics
  /** What the operator learns of, which tests read before its next reading. */
  incidents: Incidents
  /** Invalidates caches of these sites and domains after a change of another process. */
  invalidate(names: readonly string[], effects?: ChangeEffects): Promise<void>
  /** Learns now of the changes of other processes, for tests that make some. */
  pollChanges(): Promise<void>
}

/** Until it is disposed, which stops it in order, and lets work in progress finish within `drainSeconds`. */
export async function startService(config: Config, given: StartOptions): Promise<Service> {
  await using stack = new AsyncDisposableStack()
  const shared = given.broadcastInvalidation !== undefined
  const { log } = given
  const tracer = await openTracer(config, given)
  if (tracer) stack.use(tracer)
  const startOptions = { ...given, tracer, createsSecret: true }
  const clientMemory = new ClientMemory({
    totalBytes: config.clientMemoryBytes,
    perNetworkBytes: Math.ceil(config.clientMemoryBytes / 4),
  })
  // The peers of a service behind proxies are those proxies.
  const perNetwork = config.trustedProxies > 0 ? undefined : config.connectionsPerAddress
  const connections = stack.use(new Connections({ memory: clientMemory, perNetwork, log }))
  const { proxyProtocol: from } = config
  // One for each port: they stop accepting connections at different times.
  const readProxies = () => from && new ProxyProtocol({ from, setting: 'SLIPWAY_PROXY_PROTOCOL', log })
  // A node that cannot serve refuses connections, so that balancers use the others.
  const database = config.databaseUrl === '' ? undefined : await openSharedDatabase(config, startOptions)
  if (database) stack.use(database.store)
  const opening = Listener.open(config.host, config.port, {
    ...{ shared, connections, proxyProtocol: readProxies() },
    deadlines: given.deadlines ?? DEADLINES,
  })
  const listener = await openPort('SLIPWAY_PORT', opening)
  stack.defer(() => listener.drain(config.drainSeconds))
  const baseUrl = config.baseUrl || `http://localhost:${listener.port}`

  const backends = await openBackends(config, baseUrl, startOptions, database)
  if (!database) {
    stack.use(backends.store)
    await assertUnusedBucket(config, backends.store)
    await assertSameBucket(backends.store, { ...config, secret: backends.secret })
    stack.use(backends.ballast.start())
    // For commands, which must not begin with others. A full disk must not stop the start.
    await makeSettingsShared(config, backends).catch((error: unknown) =>
      log.warn('the settings could not be stored for commands', { error }),
    )
  }
  const { store, blobs, reserve, telemetry, incidents } = backends
  const { metrics } = telemetry
  const { clock } = store
  const visitRecorder = config.visits === 'on' ? new VisitRecorder({ store, clock, log }) : undefined
  const budget = new MemoryBudget(config.cacheBytes)
  const services = createServices(config, baseUrl, backends, {
    ...startOptions,
    budget,
    recorder: visitRecorder,
  })
  stack.use(services.secretScan)
  stack.use(services.finalizer)
  await services.banners.refresh()
  stack.use(new Scheduler(services, given.scheduledSweeps ?? sweeps))
  // Writes its counts before the sweeps end, for which a stop may have no time left.
  if (visitRecorder) stack.use(visitRecorder)
  stack.use(new ActivityRecorder({ store, metrics: telemetry.metrics, log }))
  const reporter =
    database &&
    new NodeReporter({
      ...{ store, metrics, incidents, log },
      settings: new FleetSettings(config, database.secret),
      host: `${hostname()}:${listener.port}`,
      release: startOptions.version,
    })
  if (reporter) stack.use(reporter)
  // Disposed before the sweeps, which wait for them.
  if (services.thumbnailDrawer) stack.use(services.thumbnailDrawer)
  stack.use(services.precompressor)
  stack.use(services.domains)
  if (services.certificates) stack.use(services.certificates)

  const getClientIp = clientIp(config.trustedProxies)
  const { secret } = backends
  const lookupLimits = createLookupLimits(config, backends, startOptions)
  const listening = { shared, connections, proxyProtocol: readProxies() }
  const https = await openHttps({ ...services, ...lookupLimits, ...listening })
  if (https) stack.use(https)
  const requestLog = openAccessLog(config, { clientIp: getClientIp, clock, metrics, log })
  if (requestLog) stack.use(requestLog)
  const { branding } = config
  const edgeOptions: EdgeOptions = Object.freeze({
    ...services,
    ...lookupLimits,
    deadlines: given.deadlines ?? DEADLINES,
    metrics,
    clientIp: getClientIp,
    https,
    requestLog,
    tracer,
    recorder: visitRecorder,
  })
  const edge = new Edge(edgeOptions)
  const invalidate = (names: readonly string[] | undefined, effects?: ChangeEffects) => {
    edge.invalidate(names, effects)
    return https?.invalidate(names, effects)
  }
  store.onChange(async (names, own, effects) => {
    const known = invalidate(names, effects)
    if (own && names) await startOptions.broadcastInvalidation?.(effects)
    await known
  })
  let isStopping = false
  const settings = pageSettings(config, baseUrl, startOptions.version)
  const api = await buildApi({
    ...services,
    siteDomain: config.siteDomain,
    version: startOptions.version,
    manifestBytes: config.manifestBytes,
    builtSite: new BuiltSite({
      settings,
      ...{ accents: branding.accents, logo: branding.logo },
      banner: () => services.banners.current(),
      sites: services.addresses.site('*').slice(0, -1),
      clock,
    }),
    clientDownload: new ClientDownload({ baseUrl, clock }),
    agentFiles: agentFiles({ settings, clock }),
    clientIp: getClientIp,
    clientMemory,
    // A test that sets the time sets it here as well; a service needs a clock that never jumps.
    transferRates: new TransferRates({ clock: startOptions.clock ?? (() => performance.now()) }),
    healthy: shareResult(
      async () => {
        await store.check()
        await blobs.check()
      },
      { lifetimeMs: SECOND_MS },
    ),
    hasSpace: shareResult(() => blobs.assertSpace(), { lifetimeMs: SECOND_MS }),
    readiness() {
      if (isStopping) return 'stopping'
      return reporter?.isReplaceable ? 'disk-full' : 'ready'
    },
    probeToken: new ProbeToken(secret),
  })
  stack.defer(() => api.close())

  const serviceRequests = new ServiceRequests({
    ...{ telemetry, requestLog },
    trustsProxies: config.trustedProxies > 0,
  })
  const sendsHsts = https !== undefined && config.hsts !== 'off' && maySendHsts(baseUrl)
  listener.serve({
    request: (request: IncomingMessage, response: ServerResponse) => {
      // No client shall send a request over a connection at the time when the drain closes it.
      if (isStopping) response.shouldKeepAlive = false
      const isAmbiguous = rejectAmbiguous(request, response)
      const isVisit = () => edge.servesHost(request.headers.host) || request.url!.startsWith(CHALLENGE_PREFIX)
      if (!isAmbiguous && isVisit()) return handleNodeRequest(edge, request, response, log)
      serviceRequests.handle(request, response, () => {
        if (isAmbiguous) return
        if (sendsHsts && isTls(request.socket)) response.setHeader(...HSTS)
        if (https && redirectToHttps(https, baseUrl, request, response)) return
        api.routing(request, response)
      })
    },
    fastPath: config.fastPath === 'on' ? new Http1FastPath({ handler: edge, clock, budget, log }) : undefined,
  })
  https?.serve({ handler: edge, listener, budget, clientMemory })
  const { backupTarget } = config
  addServiceMetrics(metrics, { ...services, reserve, connections, clientMemory, https, backupTarget })
  watchService(incidents, {
    ...{ store, blobs, reserve, domains: services.domains, certificates: services.certificates },
    breaker: lookupLimits.breaker,
    hasLocalDatabase: config.databaseUrl === '',
    hasLocalBlobs: config.blobsUrl === '',
  })
  stack.use(incidents).start()
  const { internalPort, internalHost } = config
  const routes = {
    [ON_DEMAND_TLS_PATH]: onDemandTls((name) => edge.mayHaveCertificate(name)),
    [METRICS_PATH]: metricsRoute(metrics, startOptions.collectMetrics),
  }
  const internalServer =
    internalPort === undefined
      ? undefined
      : await InternalServer.open({ host: internalHost, port: internalPort, shared, routes, log })
  if (internalServer) {
    stack.use(internalServer)
    stack.use(addProcessMetrics(metrics, { version: startOptions.version }))
  }
  const opened = stack.move()
  return {
    port: listener.port,
    httpsPort: https?.listeningPort,
    internalPort: internalServer?.port,
    baseUrl,
    precompressor: services.precompressor,
    blobs,
    metrics,
    incidents,
    async invalidate(names, effects) {
      // A change of another process shows here after a flush, and caches load it again.
      if (config.databaseUrl === '') await store.pollChanges().catch(() => undefined)
      await invalidate(names, effects)
    },
    pollChanges: () => store.pollChanges(),
    [Symbol.asyncDispose]: async () => {
      const { readySeconds, drainSeconds } = config
      isStopping = true
      // Balancers notice that this node is not ready before its ports are closed.
      if (readySeconds > 0) {
        log.info('not ready: connections are accepted until balancers have noticed', { readySeconds })
        await pause(readySeconds * 1000)
      }
      // Watchers would delay draining.
      const ended = services.domains.endWatching()
      edge.endWaiting()
      services.reviews.endWaiting()
      await Promise.all([ended, listener.drain(drainSeconds, https?.drain(drainSeconds))])
      await opened.disposeAsync()
    },
  }
}

/**
 * Opens the services for a command of the operator, beside a running service or without one. ConfigError when its
 * settings are not those of the other nodes, or of the service, of those that it uses.
 */
export async function openForOperator(
  config: Config,
  startOptions: StartOptions,
  { uses = 'identity' }: { uses?: UsedSettings | 'none' } = {},
): Promise<OperatorContext & AsyncDisposable> {
  const baseUrl = config.baseUrl || `http://localhost:${config.port}`
  const database = await openDatabase(config, startOptions)
  if (uses !== 'none') await assertSameFleet(config, database, uses)
  const backends = await openBackends(config, baseUrl, startOptions, database)
  const budget = new MemoryBudget(config.cacheBytes)
  const services = createServices(config, baseUrl, backends, { ...startOptions, budget })
  const { store, clock } = services
  const stack = new AsyncDisposableStack()
  stack.use(store)
  stack.use(services.precompressor)
  const shareSettings: OperatorContext['shareSettings'] = async ({ discardsLostKeys } = {}) => {
    const { secretBox } = backends
    const keys = await reencryptKeys({ store, secretBox, clock, discardsLostKeys }).catch((error) => {
      if (!(error instanceof UndecryptableError)) throw error
      throw new ConfigError(
        `${error.message}: set SLIPWAY_SECRET_PREVIOUS to the secret that encrypted it, or run \`slipway-server settings share --discard-lost-keys\` if that secret is lost: every certificate is then ordered again. The other nodes keep their settings`,
      )
    })
    await makeSettingsShared(config, backends)
    return keys
  }
  return { ...services, shareSettings, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

function createLookupLimits(
  { staleSeconds }: Config,
  { store, telemetry: { metrics } }: Backends,
  // A test that sets the time sets it here as well.
  { clock = () => performance.now() }: StartOptions,
): Pick<EdgeOptions, 'breaker' | 'missLimiter'> {
  const breaker = new CircuitBreaker({
    silenceMs: () => store.silenceMs(),
    maxStaleMs: staleSeconds * SECOND_MS,
    clock,
    onReachable: () => void store.pollChanges().catch(() => undefined),
    metrics,
  })
  return { breaker, missLimiter: new MissLimiter({ clock, metrics }) }
}

function pageSettings(config: Config, baseUrl: string, version: string): PageSettings {
  const { name, termsUrl, imprintUrl, hasLogo } = config.branding
  return {
    baseUrl,
    version,
    branding: { name, termsUrl, imprintUrl, hasLogo },
    siteDomain: `.${config.siteDomain}`,
    ...publishLimits(config),
    anonymousPublishing: config.anonymousPublishing === 'on',
    contactEmail: config.reportEmail,
    openSignUp: config.signUp.kind === 'open',
    anonymousRequests: config.rateAnonymous,
    anonymousLifetime: config.anonymousLifetime,
    pendingLifetime: config.pendingLifetime,
    trashLifetime: config.trashLifetime,
    visits: config.visits === 'on',
    mail: config.smtpUrl ? 'smtp' : 'log',
    customDomains: canReceiveDomains(config.proxyHost),
    issuesCertificates: config.httpsPort !== undefined,
  }
}

/** Loads the packages of OpenTelemetry only for their setting. */
async function openTracer(
  { otlpUrl: url, tracePercent: samplePercent }: Config,
  { version, log }: StartOptions,
): Promise<Tracer | undefined> {
  if (url === '') return undefined
  const { OtlpTracer } = await import('./operations/telemetry/otlp.ts')
  return new OtlpTracer({ url, samplePercent, version, log })
}

function openAccessLog(
  { accessLog: target, accessLogFormat: format, accessLogAddresses: addresses }: Config,
  parts: Omit<ConstructorParameters<typeof AccessLog>[0], 'target' | 'format' | 'addresses'>,
): AccessLog | undefined {
  if (target === 'off') return undefined
  try {
    return new AccessLog({ ...parts, target, format, addresses })
  } catch (error) {
    throw new ConfigError(
      `SLIPWAY_ACCESS_LOG=${JSON.stringify(target)} is not allowed: it must be off, stdout or a file that can be written (${(error as Error).message})`,
    )
  }
}

async function openHttps(options: HttpsOptions): Promise<Https | undefined> {
  const { httpsPort } = options.config
  if (httpsPort === undefined) return undefined
  const { Https } = await import('./certificates/https.ts')
  return Https.open(options, httpsPort)
}
