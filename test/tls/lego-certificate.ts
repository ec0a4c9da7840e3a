import { join } from 'node:path'

export const LEGO_CERTIFICATE = join(import.meta.dirname, '..', '..', 'deploy', 'lego-certificate')

export const LEGO_SETTINGS = {
  PATH: process.env.PATH!,
  SLIPWAY_SITE_DOMAIN: 'sites.test',
  SLIPWAY_BASE_URL: 'https://slipway.test:8443',
  SLIPWAY_ACME_EMAIL: 'ops@slipway.test',
}
