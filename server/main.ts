import cluster from 'node:cluster'
import { randomBytes, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Config, ConfigError, readConfig, settingRows } from './config.ts'
import { Failure } from './failure.ts'
import { type Log, makeLog } from './log.ts'
import { releaseStartMemory } from './start-memory.ts'
import { iso } from './time.ts'

const HELP = `slipway-server: runs the Slipway service

  slipway-server                            serve until SIGTERM or SIGINT
  slipway-server sweep NAME|all             run one sweep now, or all of them
  slipway-server sweeps                     list the sweeps
  slipway-server account plan EMAIL PLAN    put an account on the free or hobby plan
  slipway-server certificates               list the certificates: how long they last, what is wrong
  slipway-server settings                   list the settings (environment variables)
  slipway-server help | version
`

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as {
  version: string
}

process.exitCode = await main(process.argv.slice(2))

/** Does what the arguments say and answers the exit code: 0 done, 1 failed, 2 not understood. */
async function main(args: string[]): Promise<number> {
  const [command = 'serve', ...rest] = args
  try {
    switch (command) {
      case 'sweeps':
        return await listSweeps()
      case 'settings':
        for (const row of settingRows()) say(`${row.name.padEnd(30)} ${row.fallback.padEnd(12)} ${row.means}`)
        return 0
      case 'version':
        say(version)
        return 0
      case 'help':
        say(HELP)
        return 0
    }
    return await act(command, rest)
  } catch (error) {
    return complain(error)
  }
}

/** The commands that need settings which are right. */
async function act(command: string, rest: string[]): Promise<number> {
  const config = readConfig(process.env)
  const text = process.stdout.isTTY === true
  const log = makeLog({ level: config.log, text, write: (line) => void process.stdout.write(line) })
  switch (command) {
    case 'serve':
      return config.workers > 1 ? serveWithWorkers(config, log) : serve(config, log)
    case 'worker':
      return serve({ ...config, ...(JSON.parse(rest[1]!) as Ports) }, log, rest[0])
    case 'sweep':
      return sweep(config, log, rest)
    case 'account':
      return account(config, log, rest)
    case 'certificates':
      return listCertificates(config, log)
  }
  return misunderstood(`There is no command ${command}.`)
}

/** One process does everything; with `run` it is one of several workers under a supervisor. */
async function serve(config: Config, log: Log, run?: string): Promise<number> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<string>()
  const { startService } = await import('./service.ts')
  if (run === undefined) {
    const service = await startService(config, { log, version })
    releaseStartMemory()
    onSignals(stop)
    announce(service.baseUrl, config)
    return end(service, await stopped, log)
  }
  const { Siblings } = await import('./workers.ts')
  const siblings = new Siblings(() => stop('supervisor'))
  onSignals(() => undefined)
  try {
    const service = await startService(config, {
      log,
      version,
      run,
      tellSiblings: (slugs) => siblings.tell(slugs),
    })
    releaseStartMemory()
    siblings.ready(service)
    return await end(service, await stopped, log)
  } finally {
    // Its line to the supervisor would keep it alive, also when it could not start.
    cluster.worker?.disconnect()
  }
}

async function end(service: AsyncDisposable, reason: string, log: Log): Promise<number> {
  log.info('stopping: finishing what is under way', { reason })
  await service[Symbol.asyncDispose]()
  log.info('stopped')
  return 0
}

async function serveWithWorkers(config: Config, log: Log): Promise<number> {
  const { supervise } = await import('./workers.ts')
  const ports = await freePorts(config)
  const args = ['worker', randomBytes(8).toString('hex'), JSON.stringify(ports)]
  const onReady = (baseUrl: string) => announce(baseUrl, config)
  const supervisor = supervise({ workers: config.workers, args, log, onReady })
  onSignals(() => supervisor.stop())
  return supervisor.ended
}

type Ports = Pick<Config, 'port' | 'httpsPort' | 'internalPort'>

/** Sees to it that nobody else has the ports before the workers share them; says which when any will do. */
async function freePorts({ host, port, httpsPort, internalPort }: Config): Promise<Ports> {
  return {
    port: await freePort(host, port, 'SLIPWAY_PORT'),
    httpsPort: httpsPort === undefined ? undefined : await freePort(host, httpsPort, 'SLIPWAY_HTTPS_PORT'),
    internalPort:
      internalPort === undefined
        ? undefined
        : await freePort('localhost', internalPort, 'SLIPWAY_INTERNAL_PORT'),
  }
}

async function freePort(host: string, port: number, setting: string): Promise<number> {
  const { createServer } = await import('node:net')
  const { listenOn, portOf } = await import('./sockets/ports.ts')
  const probes = await listenOn({ host, port, setting, shared: false }, () => createServer())
  const free = portOf(probes[0])
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))))
  return free
}

async function sweep(config: Config, log: Log, [name]: string[]): Promise<number> {
  const { sweeps } = await import('./sweeps/sweeps.ts')
  const { runByHand } = await import('./sweeps/scheduler.ts')
  const chosen = sweeps.filter((one) => name === 'all' || one.name === name)
  if (chosen.length === 0) {
    return misunderstood(
      `There is no sweep ${name ?? ''}; there are ${sweeps.map((one) => one.name).join(', ')} and all.`,
    )
  }
  const { openHouse } = await import('./service.ts')
  await using house = await openHouse(config, { log, version })
  for (const one of chosen) say(`${one.name}: ${await runByHand(one, house.sweepOptions)}`)
  return 0
}

async function listSweeps(): Promise<number> {
  const { sweeps } = await import('./sweeps/sweeps.ts')
  for (const one of sweeps)
    say(`${one.name.padEnd(16)} every ${String(one.every).padStart(5)} s  ${one.means}`)
  return 0
}

async function listCertificates(config: Config, log: Log): Promise<number> {
  const { openHouse } = await import('./service.ts')
  await using house = await openHouse(config, { log, version })
  const rows = await house.store.read.certificates.wanted()
  const file = config.tlsCertFile
  if (file !== '') {
    const { subjectAltName, validToDate } = new X509Certificate(readFileSync(file))
    say(`${file}: ${subjectAltName ?? 'no names'}, until ${iso(validToDate.getTime()).slice(0, 10)}\n`)
  }
  if (rows.length === 0) {
    say(`There are no certificates in ${config.data}`)
    return 0
  }
  const day = (time: number | null) => (time === null ? '-' : iso(time).slice(0, 16).replace('T', ' '))
  say(`${'NAME'.padEnd(40)} ${'ENDS (UTC)'.padEnd(17)} ${'NEXT LOOK (UTC)'.padEnd(17)} PROBLEM`)
  for (const { name, not_after, due_at, problem } of rows)
    say(`${name.padEnd(40)} ${day(not_after).padEnd(17)} ${day(due_at).padEnd(17)} ${problem ?? '-'}`)
  return 0
}

async function account(config: Config, log: Log, [verb, email, plan]: string[]): Promise<number> {
  if (verb !== 'plan' || !email || (plan !== 'free' && plan !== 'hobby')) {
    return misunderstood('Say: slipway-server account plan EMAIL free|hobby')
  }
  const { openHouse } = await import('./service.ts')
  await using house = await openHouse(config, { log, version })
  await house.accounts.setPlan(email, plan)
  say(`${email} is on the ${plan} plan.`)
  return 0
}

/** Says where it runs and what to type next: to a person as text, to a machine as one line of the log. */
function announce(baseUrl: string, config: Config): void {
  if (config.log === 'silent') return
  say(`
  Slipway ${version} runs at ${baseUrl}

  Publish a folder:   npx slipway publish ./folder${baseUrl === 'http://localhost:8080' ? '' : ` --server ${baseUrl}`}
                      (in a second terminal, in this folder)
  API reference:      ${baseUrl}/docs
  ${config.httpsPort === undefined ? '' : `HTTPS:              ${config.tlsCertFile || 'certificates come by themselves, the first within some seconds'}\n  `}Data:               ${config.data}${config.smtpUrl ? '' : `\n  Mailed codes:       in this log, and as letters in ${config.data}/mail`}

  Ctrl-C stops it.
`)
}

/** The first signal stops in order; another Ctrl-C stops at once. */
function onSignals(stop: (signal: string) => void): void {
  let asked = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!asked) stop(signal)
      else if (signal === 'SIGINT') process.exit(130)
      asked = true
    })
  }
}

function complain(error: unknown): number {
  const expected =
    error instanceof ConfigError || error instanceof Failure || (error as Error).name === 'ListenError'
  process.stderr.write(`slipway-server: ${expected ? (error as Error).message : (error as Error).stack}\n`)
  return 1
}

function misunderstood(sentence: string): number {
  process.stderr.write(`${sentence}\n\n${HELP}`)
  return 2
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
