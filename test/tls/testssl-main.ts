import { BASE, SecureService } from './secure-service.ts'
import { examine } from './testssl.ts'

// `node test/tls/testssl-main.ts` runs every check of testssl.sh, which takes minutes, and prints what it finds.
await using service = await SecureService.start()
const { slug } = await service.publish({ 'index.html': 'home' })
await service.addSecureDomain('www.example.test', slug)
// Some checks name nobody.
await service.certify(BASE)
for (const { severity, id, finding } of await examine(service.port, 'www.example.test', []))
  console.log(`${severity}\t${id}\t${finding}`)
