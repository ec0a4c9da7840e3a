import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { Slipway } from '../../client/sdk/slipway.ts'
import { lastingPort, Program, type Settings } from '../operator/program.ts'
import { readRecipe } from '../proxies/recipe.ts'
import type { Daemon } from '../tools/daemon.ts'
import { startHaproxy } from '../tools/haproxy.ts'
import { temporaryFolder } from '../tools/temporary-folder.ts'
import { Report } from './report.ts'

interface RestartOptions {
  /** Requests behind HAProxy, and as many directly. */
  visits: number
  log?: (line: string) => void
}

/** Of each kind: those that keep their connection, and those that open one for each request. */
const CLIENTS = 16
const RESTARTS = 10

/** One request in so many is a publish. */
const REQUESTS_OF_A_PUBLISH = 50

const COUNT_INTERVAL_MS = 10

/** Of a client whose connection was refused. */
const RETRY_MS = 20

const OWNER = 'owner@example.test'

/** Where clients connect. */
interface Place {
  name: string
  port: number
  /** Whether clients are refused while the service does not run. */
  mayRefuse: boolean
}

/** A machine with two workers, which is stopped and started. */
interface Machine {
  program: Program
  settings: Settings
  phase: 'runs' | 'stops' | 'starts'
  key: string
  slug: string
}

/** Restarts a machine under load: no request fails behind HAProxy, and without it none that was not refused. */
export async function runRestarts({ visits, log }: RestartOptions): Promise<Report> {
  const report = new Report(log)
  await using stack = new AsyncDisposableStack()
  const { path: DATA } = stack.use(await temporaryFolder('slipway-restart-'))
  const port = await lastingPort()
  const balancer = stack.use(await startBalancer(port))
  const machine = await openMachine({ DATA, PORT: String(port), WORKERS: '2', TRUSTED_PROXIES: '1' })
  stack.defer(() => machine.program[Symbol.asyncDispose]())
  const places: Place[] = [
    { name: 'behind HAProxy', port: balancer.ports[1]!, mayRefuse: false },
    { name: 'directly', port, mayRefuse: true },
  ]
  for (const place of places) {
    let sent = 0
    const isSent = async (count: number) => {
      while (sent < count) await pause(COUNT_INTERVAL_MS)
    }
    const request = async (keepAlive: boolean) => {
      const agent = new Agent({ keepAlive, maxSockets: 1 })
      const what = `${place.name}, ${keepAlive ? 'kept' : 'new'} connections`
      while (sent < visits) await send(machine, { place, agent, what, number: sent++, report })
      agent.destroy()
    }
    const requests = Array.from({ length: 2 * CLIENTS }, (_, index) => request(index < CLIENTS))
    for (let number = 1; number <= RESTARTS; number++) {
      await isSent((number * visits) / (RESTARTS + 1))
      await restart(machine)
      report.event(`${place.name}: restarted`)
    }
    await Promise.all(requests)
  }
  return report
}

/** With the configuration of deploy/edge, but for TLS. */
function startBalancer(port: number): Promise<Daemon> {
  return startHaproxy(2, ([http, https]) =>
    readRecipe('haproxy.cfg', [
      ['127.0.0.1:8080', `127.0.0.1:${port}`],
      ['bind :80', `bind 127.0.0.1:${http}`],
      ['bind :443 ssl crt /etc/slipway/tls/ strict-sni alpn h2,http/1.1', `bind 127.0.0.1:${https}`],
    ]),
  )
}

async function openMachine(settings: Settings): Promise<Machine> {
  const program = await Program.serve(settings, { deadlines: 'production' })
  const { baseUrl } = program
  const client = new Slipway({ baseUrl })
  await client.requestCode(OWNER)
  const { apiKey: key } = await client.verifyCode(OWNER, await program.mailedCode(OWNER))
  const { slug } = await new Slipway({ baseUrl, key }).publishContents(createSite(0))
  return { program, settings, phase: 'runs', key, slug }
}

async function restart(machine: Machine): Promise<void> {
  machine.phase = 'stops'
  await machine.program.stop()
  machine.phase = 'starts'
  machine.program = await Program.serve(machine.settings, { deadlines: 'production' })
  machine.phase = 'runs'
}

interface Sending {
  place: Place
  agent: Agent
  /** The kind of client. */
  what: string
  number: number
  report: Report
}

/** Sends a request, again when it is refused where that may be. */
async function send(machine: Machine, { place, agent, what, number, report }: Sending): Promise<void> {
  const publishes = number % REQUESTS_OF_A_PUBLISH === 0
  const body = publishes ? JSON.stringify(createSite(number)) : ''
  const since = performance.now()
  for (;;) {
    const options = publishes ? updateOf(machine, body) : visitOf(machine)
    const outgoing = request({ host: '127.0.0.1', port: place.port, agent, ...options })
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.once('response', resolve).once('error', reject).end(body)
      })
      const text = String(await buffer(response))
      const { statusCode: status } = response
      report.count(`${what}: ${publishes ? 'publishes' : 'visits'} with ${status}`)
      if (status !== 200 || !(publishes || text.startsWith('version ')))
        report.violation(`${what}: ${status} while it ${machine.phase}: ${text}`)
      report.max(`${what}: longest wait, ms`, performance.now() - since)
      return
    } catch (error) {
      const isRefused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
      report.count(`${what}: ${isRefused ? 'refused' : 'reset'}`)
      if (!isRefused || !place.mayRefuse)
        return report.violation(`${what}: ${error} while it ${machine.phase}`)
      await pause(RETRY_MS)
    }
  }
}

function visitOf({ slug }: Machine): RequestOptions {
  return { headers: { host: `${slug}.localhost` } }
}

function updateOf({ slug, key }: Machine, body: string): RequestOptions {
  return {
    method: 'PUT',
    path: `/api/v1/publish/${slug}`,
    headers: {
      host: 'localhost',
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  }
}

function createSite(number: number) {
  return { files: [{ path: 'index.html', content: `version ${number}` }] }
}
