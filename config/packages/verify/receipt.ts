/** `@holdfast/verify/receipt`: signed receipts for single blobs. */
export { VerifyError, type VerifyErrorCode } from '../../../src/verify/errors.ts';
export {
  checkReceipt,
  parseReceipt,
  type Receipt,
  type ReceiptContradiction,
  type ReceiptStep,
  receiptContradictionOf,
} from '../../../src/verify/receipt.ts';
