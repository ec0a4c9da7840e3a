import { BASE, SecureService } from './secure-service.ts'
import { runTestssl } from './testssl.ts'

// `node test/tls/testssl-main.ts` runs every check of testssl.sh, which takes minutes, and prints the findings.
await using service = await SecureService.start()
const { slug } = await service.publish({ 'index.html': 'home' })
await service.addSecureDomain('www.example.test', slug)
// Some checks send no server name.
await service.certify(BASE)
for (const { severity, id, finding } of await runTestssl(service.port, 'www.example.test', []))
  console.log(`${severity}\t${id}\t${finding}`)
