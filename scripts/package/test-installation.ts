import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Slipway } from '../../client/sdk/slipway.ts'
import { playReviewLoop, type ReviewCommand } from '../../test/journeys/review-loop.ts'
import { ContextPool } from '../../test/support/browser.ts'
import { newestCode } from '../../test/support/service.ts'
import { build } from '../build.mjs'
import { root } from '../root.mjs'
import { buildPackages } from './build-packages.ts'

type Log = (line: string) => void

/** What a service of the package needs, beside a minimal Debian. */
const DEPENDENCIES = 'ca-certificates,libatomic1,libstdc++6'

const PAGE = '<h1>Published with the package</h1>'

/**
 * Installs the package of the commit before in a new Debian system, starts it as its unit does, publishes with its
 * client, upgrades it to the package of this commit, removes and purges it. Then starts the program of the archive there.
 * Needs root, debootstrap and the archive of Debian.
 */
export async function testInstallation(log: Log): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-install-'))
  using stack = new DisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  const before = buildCommitBefore(folder)
  log(`built ${before}`)
  await build()
  const { deb, tarball } = await buildPackages(join(folder, 'packages'))
  log(`built ${deb}`)
  const system = join(folder, 'system')
  execFileSync('debootstrap', ['--variant=minbase', `--include=${DEPENDENCIES}`, 'stable', system], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  execFileSync('mount', ['--types', 'proc', 'proc', join(system, 'proc')])
  stack.defer(() => execFileSync('umount', [join(system, 'proc')]))
  log('created a Debian system')
  const port = await findPort()
  const debian = new DebianSystem(system)
  // debootstrap creates none.
  debian.write('etc/hosts', '127.0.0.1 localhost\n')

  debian.install(before)
  appendFileSync(join(system, 'etc/slipway/slipway.env'), `SLIPWAY_PORT=${port}\n`)
  const url = await publish(debian, { port, service: debian.readUnit(), client: 'slipway' })
  log(`installed ${debian.version()}, published ${url}`)

  debian.install(deb)
  await withService(debian, debian.readUnit(), async () => {
    assert.equal(get(url, port), PAGE)
    debian.run('slipway-server', 'check')
    debian.run('install', '-d', '-o', 'slipway', '-m', '0700', '/srv/backup')
    debian.run('slipway-server', 'backup', '/srv/backup')
    assert.match(debian.run('slipway-server', 'backup', 'verify', '/srv/backup'), /all are intact/)
    await playReview(debian, port)
  })
  log(`upgraded to ${debian.version()}: the site is served, was checked, backed up and reviewed`)

  debian.run('dpkg', '--remove', 'slipway')
  assert.deepEqual(
    [
      'usr/bin/slipway-server',
      'usr/lib/slipway',
      'var/lib/slipway/slipway.db',
      'etc/slipway/slipway.env',
    ].map(debian.has),
    [false, false, true, true],
  )
  debian.run('dpkg', '--purge', 'slipway')
  const folders = ['var/lib/slipway', 'var/cache/slipway', 'var/log/slipway', 'etc/slipway']
  assert.deepEqual(folders.filter(debian.has), [])
  assert.doesNotMatch(readFileSync(join(system, 'etc/passwd'), 'utf8'), /^slipway:/m)
  log('removed with its data kept, and purged with them')

  log(`started ${tarball}, published ${await runArchive(debian, tarball, port)}`)
}

/** Plays the loop of a review with the running service and the client of the package. */
async function playReview(debian: DebianSystem, port: number): Promise<void> {
  const baseUrl = `http://localhost:${port}`
  const email = 'ann@example.test'
  const anonymous = new Slipway({ baseUrl })
  await anonymous.requestCode(email)
  const code = await newestCode(debian.locate('var/lib/slipway/mail'), email)
  const { apiKey: key } = await anonymous.verifyCode(email, code)
  const command: ReviewCommand = {
    run: (args) => debian.runClient({ SLIPWAY_URL: baseUrl, SLIPWAY_KEY: key }, args),
    write(page) {
      debian.write('srv/reviewed/index.html', page)
      return '/srv/reviewed'
    },
  }
  await using browsers = await ContextPool.open('--disable-dev-shm-usage')
  await playReviewLoop({ client: new Slipway({ baseUrl, key }), command, browsers })
}

/** Unpacks the archive and starts its program as a user that owns an empty folder only. Returns the URL of a site. */
async function runArchive(debian: DebianSystem, tarball: string, port: number): Promise<string> {
  debian.unpack(tarball, 'opt/slipway')
  debian.run('install', '-d', '-o', 'daemon', '/srv/archive')
  const command = ['sh', '-c', `cd /srv/archive && SLIPWAY_PORT=${port} exec /opt/slipway/slipway`]
  const service = { user: 'daemon', group: 'daemon', command }
  return publish(debian, { port, service, client: '/opt/slipway/slipway-client' })
}

/** Builds the package of the commit before with its own sources and the installed modules. */
function buildCommitBefore(folder: string): string {
  const tree = join(folder, 'before')
  execFileSync('git', ['clone', '--quiet', '--shared', root, tree])
  execFileSync('git', ['checkout', '--quiet', 'HEAD~1'], { cwd: tree })
  execFileSync('cp', ['--archive', '--link', join(root, 'node_modules'), tree])
  for (const name of readdirSync(join(tree, 'node_modules')))
    if (name.endsWith('-built-from')) rmSync(join(tree, 'node_modules', name))
  execFileSync('npm', ['run', '--silent', 'package', '--', 'packages'], {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const deb = readdirSync(join(tree, 'packages')).find((name) => name.endsWith('.deb'))!
  return join(tree, 'packages', deb)
}

interface Service {
  user: string
  group: string
  command: string[]
}

/** A Debian system in a folder. */
class DebianSystem {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  readonly locate = (path: string): string => join(this.#folder, path)

  readonly has = (path: string): boolean => existsSync(this.locate(path))

  /** Runs the client, while this process does other things. */
  runClient(env: Record<string, string>, args: string[]): Promise<{ code: number; stdout: string }> {
    const options = { env: { PATH: '/usr/bin:/bin', HOME: '/root', ...env } }
    return new Promise((resolve) => {
      execFile('/usr/sbin/chroot', [this.#folder, 'slipway', ...args], options, (error, stdout) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout }),
      )
    })
  }

  run(...command: string[]): string {
    return execFileSync('chroot', [this.#folder, ...command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    })
  }

  /** Installs a package whose dependencies the system has. A download would fail: no proxy listens at that address. */
  install(deb: string): void {
    copyFileSync(deb, join(this.#folder, 'tmp/slipway.deb'))
    const options = [
      'Dpkg::Options::=--force-confold',
      'Dpkg::Use-Pty=0',
      'Acquire::http::Proxy=http://127.0.0.1:1',
    ]
    this.run(
      'apt-get',
      'install',
      '-y',
      '-q=2',
      ...options.map((one) => `--option=${one}`),
      '/tmp/slipway.deb',
    )
  }

  version(): string {
    return this.run('dpkg-query', '--show', 'slipway').trim().replace('\t', ' ')
  }

  write(path: string, content: string): void {
    const file = join(this.#folder, path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, content)
  }

  unpack(tarball: string, path: string): void {
    const folder = join(this.#folder, path)
    mkdirSync(folder, { recursive: true })
    execFileSync('tar', ['--extract', `--file=${tarball}`, `--directory=${folder}`, '--strip-components=1'])
  }

  /** The service of the package's unit. */
  readUnit(): Service {
    const unit = readFileSync(join(this.#folder, 'usr/lib/systemd/system/slipway.service'), 'utf8')
    const read = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)![1]!
    return { user: read('User'), group: read('Group'), command: read('ExecStart').split(' ') }
  }

  start({ user, group, command }: Service): ChildProcess {
    return spawn('chroot', [`--userspec=${user}:${group}`, this.#folder, ...command], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    })
  }
}

/** Publishes a site with a client, while the service runs. */
async function publish(
  debian: DebianSystem,
  { port, service, client }: { port: number; service: Service; client: string },
): Promise<string> {
  return withService(debian, service, async () => {
    debian.write('srv/site/index.html', PAGE)
    const output = debian.run('env', `SLIPWAY_URL=http://localhost:${port}`, client, 'publish', '/srv/site')
    const url = /http:\/\/\S+\.localhost:\d+\//.exec(output)![0]
    assert.equal(get(url, port), PAGE)
    return url
  })
}

/** Runs the service until `work` has ended, and stops it as systemd does. */
async function withService<T>(debian: DebianSystem, definition: Service, work: () => Promise<T>): Promise<T> {
  const service = debian.start(definition)
  const ended = once(service, 'exit')
  try {
    const started = Promise.withResolvers<void>()
    createInterface({ input: service.stdout! }).on('line', (line) => {
      if (line.includes(' runs at http')) started.resolve()
    })
    await Promise.race([
      started.promise,
      ended.then(([code]) => assert.fail(`the service ended with ${code}`)),
    ])
    return await work()
  } finally {
    service.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  }
}

function get(url: string, port: number): string {
  const { hostname } = new URL(url)
  return execFileSync('curl', ['--silent', '--resolve', `${hostname}:${port}:127.0.0.1`, url], {
    encoding: 'utf8',
  })
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
