import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { program } from '../../scripts/program.mjs'
import { memoryFolder } from '../tools/memory-folder.ts'
import { BASE, issuer, SecureService } from './secure-service.ts'

// `node test/tls/testssl-main.ts` runs testssl.sh on a service, without network access, which takes minutes, and prints
// its findings. test/tls/service.test.ts tests the same protocols and ciphers.

const NAME = 'www.example.test'

const testssl = program('testssl')
if (testssl === undefined) throw new Error('this needs testssl.sh: sudo apt-get install testssl.sh')
await using service = await SecureService.start()
const { slug } = await service.publish({ 'index.html': 'home' })
await service.addSecureDomain(NAME, slug)
// Some checks send no server name.
await service.certify(BASE)
await using folder = await memoryFolder()
const [root, report] = [join(folder.path, 'root.pem'), join(folder.path, 'report.json')]
await writeFile(root, issuer.root)
const options = ['--ip', '127.0.0.1', '--nodns', 'none', '--warnings', 'batch', '--quiet', '--color', '0']
const args = [...options, '--add-ca', root, '--jsonfile', report, `${NAME}:${service.port}`]
const child = spawn(testssl, args, {
  stdio: 'ignore',
  env: { ...process.env, HOME: folder.path },
})
await once(child, 'exit')
for (const { severity, id, finding } of JSON.parse(await readFile(report, 'utf8')))
  console.log(`${severity}\t${id}\t${finding}`)
