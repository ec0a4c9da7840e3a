import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateId } from '../../server/certificates/acme/certificate-id.ts'

/** RFC 9773, appendix A. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`

test('a certificate has the identifier that RFC 9773 gives it', async () => {
  assert.equal(await certificateId(CERTIFICATE), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})

test('the identifier of a chain is that of its leaf', async () => {
  assert.equal(await certificateId(CERTIFICATE + CERTIFICATE), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})
