import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SettingsDraft } from '../../dashboard/site/settings-draft.ts'

test('a setting that is changed again while it is saved keeps its new value, and stays unsaved', async (t) => {
  // The parts of the browser that the module needs.
  Object.assign(globalThis, { addEventListener: () => undefined, removeEventListener: () => undefined })
  t.after(() => {
    for (const name of ['addEventListener', 'removeEventListener']) Reflect.deleteProperty(globalThis, name)
  })
  const { removeSaved, setDraft, settingsDraft } = await import('../../dashboard/site/settings-draft.ts')
  const cases: [draft: SettingsDraft, saved: SettingsDraft, left: SettingsDraft][] = [
    [{ title: 'Loaves and rolls' }, { title: 'Loaves' }, { title: 'Loaves and rolls' }],
    [{ title: 'Loaves' }, { title: 'Loaves' }, {}],
    [{ title: null, spaMode: true }, { title: 'Loaves' }, { title: null, spaMode: true }],
    [{ password: null, spaMode: false }, { password: null, spaMode: true }, { spaMode: false }],
    [{ description: 'Fresh' }, {}, { description: 'Fresh' }],
  ]
  for (const [draft, saved, left] of cases) {
    setDraft('bakery', draft)
    removeSaved('bakery', saved)
    assert.deepEqual(settingsDraft('bakery').value, left)
  }
})
