import type { Call, CallRequest } from '../calls.ts'
import type { CallFixture } from './fixture.ts'

const REASON = { reason: 'It imitates a bank' }

/** A read of administrators that needs nothing. */
const read = (route: Call['route'], errors: Call['errors'] = []): Call => {
  return { route, access: 'admin', writes: false, prepare: () => ({}), errors }
}

/** A change that administrators make, with the action that the audit log has then. */
const change = (route: Call['route'], audit: string, prepare: Call['prepare']): Call => {
  return { route, access: 'admin', writes: true, audit, prepare }
}

const aboutSite = async (f: CallFixture): Promise<CallRequest> => {
  const account = await f.account()
  return { path: await f.site(account), json: REASON, notifies: account.email }
}

const aboutAccount = async (f: CallFixture): Promise<CallRequest> => {
  const account = await f.accountWithId()
  return { path: account, json: REASON, notifies: account.email }
}

// biome-ignore format: one row per call
export const ADMINISTRATION_CALLS = {
  getOverview: read('GET /api/admin/overview'),
  getActivity: read('GET /api/admin/activity', [['VALIDATION_ERROR', { query: '?range=x' }]]),
  listAllSites: read('GET /api/admin/sites', [['VALIDATION_ERROR', { query: '?cursor=x' }]]),
  listAccounts: read('GET /api/admin/accounts'),
  listAllDomains: read('GET /api/admin/domains'),
  listCertificates: read('GET /api/admin/certificates'),
  listSweeps: read('GET /api/admin/sweeps'),
  listNodes: read('GET /api/admin/nodes'),
  getPolicies: read('GET /api/admin/policies'),
  listAuditEntries: read('GET /api/admin/audit', [['VALIDATION_ERROR', { query: '?cursor=x' }]]),
  listInvitations: read('GET /api/admin/invitations'),
  getBanner: read('GET /api/admin/banner'),
  listBlocks: read('GET /api/admin/blocks'),
  listReports: read('GET /api/admin/reports'),
  getModeratedSite: { ...read('GET /api/admin/sites/{slug}'), prepare: async (f) => ({ path: await f.site() }) },
  setPlan: { ...change('PUT /api/admin/accounts/{id}/plan', 'account.plan', async (f) => ({ path: await f.accountWithId(), json: { plan: 'free', limits: { sites: 20 } } })), errors: [['VALIDATION_ERROR', { json: { plan: 'golden' } }]] },
  setAdministrator: change('PUT /api/admin/accounts/{id}/administrator', 'administrator.add', async (f) => ({ path: await f.accountWithId(), json: { administrator: true } })),
  invite: change('POST /api/admin/invitations', 'invitation.add', (f) => ({ json: { email: f.email() } })),
  revokeInvitation: change('DELETE /api/admin/invitations/{email}', 'invitation.remove', async (f) => ({ path: await f.invitation() })),
  setBanner: { ...change('PUT /api/admin/banner', 'banner.set', () => ({ json: { text: 'Maintenance' } })), errors: [['VALIDATION_ERROR', { json: { text: ' ' } }]] },
  clearBanner: change('DELETE /api/admin/banner', 'banner.clear', async (f) => { await f.banner(); return {} }),
  suspendSite: { ...change('PUT /api/admin/sites/{slug}/suspension', 'site.suspend', aboutSite), errors: [['VALIDATION_ERROR', { json: { reason: '' } }]] },
  resumeSite: change('DELETE /api/admin/sites/{slug}/suspension', 'site.resume', async (f) => ({ path: await f.suspendedSite() })),
  removeSite: change('DELETE /api/admin/sites/{slug}', 'site.delete', aboutSite),
  suspendAccount: change('PUT /api/admin/accounts/{id}/suspension', 'account.suspend', aboutAccount),
  resumeAccount: change('DELETE /api/admin/accounts/{id}/suspension', 'account.resume', async (f) => ({ path: await f.suspendedAccount() })),
  removeAccount: change('DELETE /api/admin/accounts/{id}', 'account.delete', aboutAccount),
  releaseDomain: change('DELETE /api/admin/domains/{domain}', 'domain.release', async (f) => ({ path: await f.activeDomain(), json: REASON, notifies: f.owner.email })),
  addBlock: { ...change('POST /api/admin/blocks', 'hash.block', (f) => ({ json: { ...f.file(), ...REASON } })), errors: [['VALIDATION_ERROR', { json: { kind: 'network', value: 'x', ...REASON } }]] },
  removeBlock: change('DELETE /api/admin/blocks', 'hash.unblock', async (f) => ({ json: await f.blockedFile() })),
  decideReports: change('PUT /api/admin/reports/{slug}', 'report.dismiss', async (f) => ({ path: await f.reportedSite(), json: { state: 'dismissed' } })),
} satisfies Record<string, Call>
