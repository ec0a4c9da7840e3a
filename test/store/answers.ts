import type { Promises } from './contract.ts'
export function storeAnswers(_: Promises): void {}
