;; Hex in both directions, thirty-two characters at a time. Page 0 holds text (up to 65,536 characters), page 1 the
;; bytes that `encode` reads. Compiled into hex-simd.ts; test/blob/hex-simd.test.ts compiles it again and compares.
(module
  (memory (export "memory") 2 2)

  ;; The values 0 to 15 of sixteen characters; 16 or more in the lane of anything that is no hex digit.
  ;; Digits: '0'..'9' + 0xc6 = 0xf6..0xff; minus 6, saturating, = 0xf0..0xf9; all others stay below 0xf0 and wrap to
  ;; 16 or more. Letters: case bit off, minus 'A', plus 10, saturating. At most one of the two is below 16.
  ;; After W. Mula, "SIMD-ized parsing of hexadecimal strings" (http://0x80.pl/notesen/2022-01-17-validating-hex-parse.html).
  (func $values (param $text v128) (result v128)
    (i8x16.min_u
      (i8x16.sub
        (i8x16.sub_sat_u
          (i8x16.add (local.get $text) (i8x16.splat (i32.const 0xc6)))
          (i8x16.splat (i32.const 6)))
        (i8x16.splat (i32.const 0xf0)))
      (i8x16.add_sat_u
        (i8x16.sub
          (v128.and (local.get $text) (i8x16.splat (i32.const 0xdf)))
          (i8x16.splat (i32.const 0x41)))
        (i8x16.splat (i32.const 10)))))

  ;; Eight 16-bit lanes, each a pair of values with the first digit's in the low half: the byte, in the low half.
  (func $bytes (param $pairs v128) (result v128)
    (i16x8.shr_u
      (v128.or (local.get $pairs) (i16x8.shl (local.get $pairs) (i32.const 12)))
      (i32.const 8)))

  ;; Decodes $length characters (a multiple of 32) at address 0 into $length / 2 bytes at address 0, in place: the
  ;; bytes written never overtake the characters read. Returns 1 when all were hex digits.
  (func (export "decode") (param $length i32) (result i32)
    (local $from i32) (local $to i32) (local $low v128) (local $high v128) (local $seen v128)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $length)))
        (local.set $low (call $values (v128.load (local.get $from))))
        (local.set $high (call $values (v128.load offset=16 (local.get $from))))
        (local.set $seen (v128.or (local.get $seen) (v128.or (local.get $low) (local.get $high))))
        (v128.store
          (local.get $to)
          (i8x16.narrow_i16x8_u (call $bytes (local.get $low)) (call $bytes (local.get $high))))
        (local.set $from (i32.add (local.get $from) (i32.const 32)))
        (local.set $to (i32.add (local.get $to) (i32.const 16)))
        (br $next)))
    (i32.eqz (v128.any_true (v128.and (local.get $seen) (i8x16.splat (i32.const 0xf0))))))

  ;; Encodes $length bytes (a multiple of 16) at address 65536 into 2 * $length lower-case characters at address 0.
  (func (export "encode") (param $length i32)
    (local $from i32) (local $to i32)
    (local $bytes v128) (local $high v128) (local $low v128) (local $digits v128)
    (local.set $digits (v128.const i8x16 48 49 50 51 52 53 54 55 56 57 97 98 99 100 101 102))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $length)))
        (local.set $bytes (v128.load offset=65536 (local.get $from)))
        (local.set $high (i8x16.swizzle (local.get $digits) (i8x16.shr_u (local.get $bytes) (i32.const 4))))
        (local.set $low
          (i8x16.swizzle (local.get $digits) (v128.and (local.get $bytes) (i8x16.splat (i32.const 15)))))
        (v128.store
          (local.get $to)
          (i8x16.shuffle 0 16 1 17 2 18 3 19 4 20 5 21 6 22 7 23 (local.get $high) (local.get $low)))
        (v128.store offset=16
          (local.get $to)
          (i8x16.shuffle 8 24 9 25 10 26 11 27 12 28 13 29 14 30 15 31 (local.get $high) (local.get $low)))
        (local.set $from (i32.add (local.get $from) (i32.const 16)))
        (local.set $to (i32.add (local.get $to) (i32.const 32)))
        (br $next)))))
