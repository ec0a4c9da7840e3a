import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import { S3Client } from '../../packages/s3-client/client.ts'
import { program } from '../../scripts/program.mjs'
import { PATIENT } from '../support/patient.ts'
import { type Daemon, startDaemon } from './daemon.ts'
import { sharedServer } from './shared-server.ts'

/** An S3 server (radosgw) that keeps its objects in memory. */
export interface Ceph extends CephClient, AsyncDisposable {}

/** How services and tests reach it. */
export interface CephClient {
  endpoint: string
  /** The URL of a bucket with a prefix that no object has yet; `endpoint` is that of a proxy. */
  storageUrl(endpoint?: string): string
}

const ACCESS_KEY = 'TESTKEY'
const SECRET_KEY = 'TESTSECRET'
const USER = 'test'
const BUCKET = 'test'

/** Bytes of memory that objects may use. */
const STORE_BYTES = 8 * 2 ** 30

/** The S3 server that the run shares. */
export async function sharedCeph(): Promise<CephClient> {
  return connectCeph(await sharedServer('ceph'))
}

/** Puts the credentials into the environment, where services of this process search for them. */
function connectCeph(endpoint: string): CephClient {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: ACCESS_KEY, AWS_SECRET_ACCESS_KEY: SECRET_KEY })
  return {
    endpoint,
    storageUrl: (through = endpoint) => `s3://${BUCKET}/${randomUUID()}?endpoint=${through}`,
  }
}

/** Starts a monitor, a storage daemon and the gateway, in 2 seconds and 150 MB; see `connectCeph`. */
export async function startCeph(): Promise<Ceph> {
  await using started = new AsyncDisposableStack()
  const { folder, config } = started.use(await startMonitor())
  const run = (name: string, ...args: string[]) => runProgram(folder, name, ['-c', config, ...args])
  started.use(await startStorage(config, run))
  const gateway = started.use(await startGateway(config))
  const keys = [`--access-key=${ACCESS_KEY}`, `--secret-key=${SECRET_KEY}`]
  await run('radosgw-admin', 'user', 'create', `--uid=${USER}`, '--display-name=test', ...keys)
  const endpoint = `http://127.0.0.1:${gateway.ports[0]}`
  await createBucket(endpoint)
  const owned = started.move()
  return {
    ...connectCeph(endpoint),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function startMonitor(): Promise<Daemon & { config: string }> {
  let config = ''
  const monitor = await startDaemon({
    name: 'ceph-mon',
    ports: 1,
    async prepare(folder, [port]) {
      config = join(folder, 'ceph.conf')
      await createCluster({ folder, config, port: port! })
      return ['-c', config, '-i', 'a', '-d']
    },
    isReady: (line) => line.includes('is new leader'),
  })
  return { ...monitor, config }
}

async function startStorage(
  config: string,
  run: (name: string, ...args: string[]) => Promise<void>,
): Promise<Daemon> {
  const id = randomUUID()
  // The new leader accepts clients before it has stored their capabilities.
  await retry(5, /EPERM/, () => run('ceph', 'osd', 'new', id, '0'))
  await run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', id)
  return startDaemon({
    name: 'ceph-osd',
    ports: 0,
    prepare: async () => ['-c', config, '-i', '0', '-d'],
    isReady: (line) => line.includes('booting -> active'),
    // Ceph 16 reads the map of the monitors while another thread replaces it: one start of ten fails.
    isTransient: true,
  })
}

/** Repeats `work` when it rejects with a message that matches. */
async function retry(attempts: number, transient: RegExp, work: () => Promise<void>): Promise<void> {
  for (let failures = 1; ; failures++)
    try {
      await work()
      return
    } catch (error) {
      if (failures === attempts || !transient.test((error as Error).message)) throw error
    }
}

function startGateway(config: string): Promise<Daemon> {
  return startDaemon({
    name: 'radosgw',
    ports: 1,
    output: 'stdout',
    printsEarly: true,
    prepare: async (_, [port]) => [
      ...['-c', config, '-n', 'client.rgw', '-d'],
      // Without it each response waits for the acknowledgment of the client.
      `--rgw-frontends=beast endpoint=127.0.0.1:${port} tcp_nodelay=1`,
    ],
    isReady: (line) => line.includes('starting handler: beast'),
  })
}

async function createBucket(endpoint: string): Promise<void> {
  const client = new S3Client({
    bucket: parseBucketUrl(`s3://${BUCKET}?endpoint=${endpoint}`),
    credentials: { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY },
    timeouts: PATIENT.blobs,
  })
  await client.send({ kind: 'create_bucket', method: 'PUT' })
}

interface Cluster {
  folder: string
  config: string
  port: number
}

/** Writes the configuration and the data of a monitor. */
async function createCluster({ folder, config, port }: Cluster): Promise<void> {
  for (const name of ['mon', 'osd', 'rgw']) await mkdir(join(folder, name))
  const keyring = join(folder, 'keyring')
  const id = randomUUID()
  await writeFile(config, configuration({ folder, keyring, id, port }))
  const run = (name: string, ...args: string[]) => runProgram(folder, name, args)
  await run(
    'ceph-authtool',
    '--create-keyring',
    keyring,
    '--gen-key',
    '-n',
    'mon.',
    '--cap',
    'mon',
    'allow *',
  )
  const capabilities = ['mon', 'osd', 'mgr'].flatMap((kind) => ['--cap', kind, 'allow *'])
  await run('ceph-authtool', keyring, '--gen-key', '-n', 'client.admin', ...capabilities)
  const map = join(folder, 'monmap')
  await run('monmaptool', '--create', '--addv', 'a', `v1:127.0.0.1:${port}`, '--fsid', id, map)
  await run('ceph-mon', '-c', config, '--mkfs', '-i', 'a', '--monmap', map, '--keyring', keyring)
}

function configuration(parts: { folder: string; keyring: string; id: string; port: number }): string {
  const { folder, keyring, id, port } = parts
  return `[global]
fsid = ${id}
mon initial members = a
mon host = v1:127.0.0.1:${port}
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv4 = true
ms bind msgr2 = false
run dir = ${folder}
admin socket = ${folder}/$name.asok
keyring = ${keyring}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon warn on pool no redundancy = false
mon allow pool size one = true
mon max pg per osd = 1000
# The gateway creates eight pools, and each waits for this interval: the default is a second.
paxos propose interval = 0.01
paxos min wait = 0.005
[mon.a]
mon data = ${folder}/mon
[osd.0]
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = ${STORE_BYTES}
[client.rgw]
rgw data = ${folder}/rgw
rgw enable usage log = false
rgw run sync thread = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw bucket quota ttl = 0
`
}

async function runProgram(folder: string, name: string, args: string[]): Promise<void> {
  await promisify(execFile)(program(name)!, args, { cwd: folder, env: { ...process.env, HOME: folder } })
}
